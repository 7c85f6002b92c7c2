//! Sending mail by SMTP. The texts are written in `web/mail.rs`, and [`queue`] sends what the store has queued.

pub(crate) mod queue;

use crate::settings::{Smtp, SmtpEncryption};
use groma_domain::{MailId, Timestamp};
use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{
        Mailbox,
        header::{ContentType, HeaderName, HeaderValue},
    },
    transport::smtp::{
        authentication::Credentials,
        client::{Certificate, Tls, TlsParameters},
        extension::ClientId,
        response::{Category, Severity},
    },
};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// The time that the server may take for one reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(15);
/// The time to send one mail, shorter than its lease.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a mail cannot be sent.
#[derive(Debug, Error)]
pub(crate) enum MailError {
    /// The file of certificates cannot be used.
    #[error("smtp.extra_roots: {0}")]
    Roots(String),
    /// The mail server does not respond, rejects the login, or rejects the mail.
    #[error("{0}")]
    Smtp(#[from] lettre::transport::smtp::Error),
    /// The mail server takes too long.
    #[error("the mail server did not accept the message within {} seconds", SEND_TIMEOUT.as_secs())]
    Timeout,
    /// The recipient or the text is not possible in a mail.
    #[error("the message cannot be written: {0}")]
    Message(String),
}

impl MailError {
    /// Whether another attempt cannot succeed: the server rejects the mail itself, not the login.
    fn is_final(&self) -> bool {
        match self {
            Self::Message(_) => true,
            Self::Smtp(error) => error.status().is_some_and(|code| {
                code.severity == Severity::PermanentNegativeCompletion
                    && code.category == Category::MailSystem
            }),
            Self::Roots(_) | Self::Timeout => false,
        }
    }

    /// The reason without the text of the server, which may contain addresses.
    fn without_addresses(&self) -> String {
        match self {
            Self::Smtp(error) => match error.status() {
                Some(code) => format!("the mail server replied {code}"),
                None => error.to_string(),
            },
            Self::Message(_) => "the message cannot be written".to_owned(),
            other => other.to_string(),
        }
    }
}

/// A mail as it is sent.
pub(crate) struct OutgoingMail<'a> {
    pub(crate) id: MailId,
    pub(crate) recipient: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
    pub(crate) at: Timestamp,
}

/// A client of the mail server.
pub(crate) struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    pub(crate) fn new(smtp: &Smtp) -> Result<Self, MailError> {
        let tls = match smtp.encryption {
            SmtpEncryption::StartTls => Tls::Required(tls_parameters(smtp)?),
            SmtpEncryption::Tls => Tls::Wrapper(tls_parameters(smtp)?),
            SmtpEncryption::None => Tls::None,
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&smtp.host)
            .port(smtp.port)
            .tls(tls)
            .hello_name(ClientId::Domain(smtp.from.email.domain().to_owned()))
            .timeout(Some(REPLY_TIMEOUT));
        if let Some(login) = &smtp.credentials {
            let credentials = Credentials::new(login.username.clone(), login.password.clone());
            builder = builder.credentials(credentials);
        }
        Ok(Self { transport: builder.build(), from: smtp.from.clone() })
    }

    /// Connects and logs in, and sends nothing.
    pub(crate) async fn test(&self) -> Result<(), MailError> {
        within_time(self.transport.test_connection()).await.map(drop)
    }

    pub(crate) async fn send(&self, mail: &OutgoingMail<'_>) -> Result<(), MailError> {
        let message = self.message(mail)?;
        within_time(self.transport.send(message)).await.map(drop)
    }

    fn message(&self, mail: &OutgoingMail<'_>) -> Result<Message, MailError> {
        let wrong = |error: &dyn std::error::Error| MailError::Message(error.to_string());
        let recipient: Address = mail.recipient.parse().map_err(|error| wrong(&error))?;
        let millis = u64::try_from(mail.at.as_millis()).unwrap_or_default();
        // A header is one line, whatever names of workspaces and people contain.
        let subject: String =
            mail.subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, recipient))
            .subject(subject)
            .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
            // The same for every attempt, so that a mail that arrives twice is recognised.
            .message_id(Some(format!("<{}@{}>", mail.id, self.from.email.domain())))
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()))
            .header(ContentType::TEXT_PLAIN)
            .body(mail.body.to_owned())
            .map_err(|error| wrong(&error))
    }
}

fn tls_parameters(smtp: &Smtp) -> Result<TlsParameters, MailError> {
    let mut builder = TlsParameters::builder(smtp.host.clone());
    if let Some(path) = &smtp.extra_roots {
        let wrong = |error: &dyn std::error::Error| {
            MailError::Roots(format!("{}: {error}", path.display()))
        };
        let pem = std::fs::read(path).map_err(|error| wrong(&error))?;
        builder = builder
            .add_root_certificate(Certificate::from_pem(&pem).map_err(|error| wrong(&error))?);
    }
    Ok(builder.build()?)
}

async fn within_time<T>(
    work: impl Future<Output = Result<T, lettre::transport::smtp::Error>>,
) -> Result<T, MailError> {
    match tokio::time::timeout(SEND_TIMEOUT, work).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(MailError::Timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailer() -> Mailer {
        let flags = [
            ("smtp.host", "localhost".to_owned()),
            ("smtp.encryption", "none".to_owned()),
            ("smtp.from", "Groma <groma@example.test>".to_owned()),
        ];
        let settings = crate::settings::Settings::load(None, [], &flags).unwrap();
        Mailer::new(&settings.smtp.unwrap()).unwrap()
    }

    fn mail<'a>(recipient: &'a str, subject: &'a str) -> OutgoingMail<'a> {
        let id = MailId(uuid::Uuid::from_u128(7));
        let at = Timestamp::parse("2026-03-02T08:00:00Z").unwrap();
        OutgoingMail { id, recipient, subject, body: "Chêne\n.\nEnd", at }
    }

    #[test]
    fn message_has_the_headers_of_an_automatic_mail() {
        let message = mailer().message(&mail("crew@example.test", "Chêne nord")).unwrap();
        let text = String::from_utf8(message.formatted()).unwrap();
        for line in [
            "From: Groma <groma@example.test>",
            "To: crew@example.test",
            "Date: Mon, 02 Mar 2026 08:00:00 +0000",
            "Message-ID: <00000000-0000-0000-0000-000000000007@example.test>",
            "Auto-Submitted: auto-generated",
            "Content-Type: text/plain; charset=utf-8",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in {text}");
        }
        assert!(text.contains("Subject: =?utf-8?"), "{text}");
    }

    #[test]
    fn subject_and_recipient_cannot_add_headers() {
        let message = mailer().message(&mail("crew@example.test", "A\r\nBcc: b@example.test"));
        let text = String::from_utf8(message.unwrap().formatted()).unwrap();
        assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
        assert!(mailer().message(&mail("a@example.test\r\nBcc: b@example.test", "A")).is_err());
        assert!(mailer().message(&mail("no address", "A")).is_err());
    }
}
