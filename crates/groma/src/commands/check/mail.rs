//! Checks the mail server, and sends a test mail.

use super::Finding;
use crate::{
    clock,
    mail::{MailError, Mailer, OutgoingMail},
    settings::Settings,
    web::{i18n::Localizer, mail::MailWriter},
};
use groma_domain::{Email, MailId};

const REMEDY: &str =
    "check the settings smtp.* and the mail server; queued mails are sent as soon as it works";

/// The state of the mail server in one line; `None` without one.
pub(super) async fn inspect(
    settings: &Settings,
    send_test: Option<Email>,
    findings: &mut Vec<Finding>,
) -> Option<String> {
    let Some(smtp) = &settings.smtp else {
        if send_test.is_some() {
            let problem = "no test mail was sent: smtp.host is not set";
            findings.push(Finding::error(problem, "set smtp.host and smtp.from"));
        }
        return None;
    };
    let server = format!("{}:{}", smtp.host, smtp.port);
    match connect(settings, send_test.as_ref()).await {
        Ok(()) => match send_test {
            Some(recipient) => Some(format!("{server} accepted a test mail to {recipient}")),
            None => Some(format!("{server} accepts mail")),
        },
        Err(error) => {
            let problem = format!("mail cannot be sent by {server}: {error}");
            findings.push(Finding::error(problem.replace('\n', " "), REMEDY));
            Some(format!("{server} does not accept mail"))
        }
    }
}

async fn connect(settings: &Settings, send_test: Option<&Email>) -> Result<(), MailError> {
    let Some(smtp) = &settings.smtp else { return Ok(()) };
    let mailer = Mailer::new(smtp)?;
    let Some(recipient) = send_test else { return mailer.test().await };
    let writer = MailWriter {
        t: Localizer::for_language("en"),
        service: settings.service.display_name(),
        public_url: &settings.server.public_url(),
    };
    let (subject, body) = writer.test();
    let mail = OutgoingMail {
        id: MailId(uuid::Uuid::now_v7()),
        recipient: recipient.as_str(),
        subject: &subject,
        body: &body,
        at: clock::now(),
    };
    mailer.send(&mail).await
}
