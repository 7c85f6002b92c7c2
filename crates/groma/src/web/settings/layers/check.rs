//! Settings > Layers > Check: problems of the shapes of a layer, each with a link to its place on the map, and
//! the repair of those that need no decision.

use super::{LayerTabs, PATH, existing};
use crate::{
    layer_check::{CheckedLayer, LayerCheckError, check_layer},
    web::{
        WebError,
        fields::{Field, Input},
        flash::Flash,
        form::{Form, Query, encode},
        i18n::{Localizer, Message, id},
        page::{Meta, Nav},
        request_context::MemberContext,
        settings::{Confirm, SettingsNav},
    },
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use futures_util::future::{Either, select};
use groma_domain::{Layer, Permission, layer::LayerKey};
use groma_geo::{
    ProblemKind,
    layer_check::{LayerCheckOptions, Problem},
};
use groma_store::{LayerRepair, RepairOutcome};
use std::pin::pin;
use tokio::{runtime::Handle, sync::oneshot, task::spawn_blocking};

/// The most problems of each kind that are listed.
const MAX_LISTED: usize = 100;
/// The zoom of the map for a problem.
const ZOOM: u8 = 19;

#[derive(Template)]
#[template(path = "layer_check.html")]
struct CheckPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    tabs: LayerTabs,
    tolerance: Field,
    findings: Option<Findings>,
}

/// What a check found.
struct Findings {
    /// The number of shapes.
    shapes: u64,
    is_complete: bool,
    counts: Vec<(Message, String)>,
    rows: Vec<ProblemRow>,
    /// Whether more problems were found than are listed.
    has_more: bool,
    /// Whether the member may repair some of them.
    can_repair: bool,
    tolerance: String,
}

struct ProblemRow {
    kind: Message,
    shapes: Vec<String>,
    area: String,
    place: String,
    link: Option<String>,
}

impl Findings {
    fn new(ctx: &MemberContext, checked: &CheckedLayer, tolerance: f64) -> Self {
        let t = ctx.t();
        let report = &checked.report;
        let counts = report.counts.iter();
        let is_repairable =
            |kind: ProblemKind| kind.is_repairable() || kind == ProblemKind::Duplicate;
        Self {
            shapes: report.features,
            is_complete: report.is_complete,
            counts: counts.map(|(kind, count)| (kind_name(t, *kind), t.number(*count))).collect(),
            rows: report.problems.iter().map(|one| ProblemRow::new(t, checked, one)).collect(),
            has_more: report.counts.iter().any(|(_, count)| *count > MAX_LISTED as u64),
            can_repair: ctx.can(Permission::ChangeRecords)
                && !checked.layer.is_locked
                && report.counts.iter().any(|(kind, _)| is_repairable(*kind)),
            tolerance: t.decimal_input(&tolerance.to_string()),
        }
    }
}

impl ProblemRow {
    fn new(t: Localizer, checked: &CheckedLayer, problem: &Problem) -> Self {
        let names: Vec<_> = checked.names(&problem.features).collect();
        let link = problem.position.zip(names.first()).map(|([longitude, latitude], name)| {
            let slug = encode(checked.layer.slug.as_str());
            format!("/map#map={ZOOM}/{latitude:.7}/{longitude:.7}&feature={slug}/{}", name.id)
        });
        let shown = names.iter().map(|name| match &name.external_id {
            Some(external_id) => external_id.clone(),
            None => name.id.to_string(),
        });
        let place = problem.position.map(|[longitude, latitude]| {
            let [latitude, longitude] =
                [latitude, longitude].map(|degrees| t.decimal_input(&format!("{degrees:.6}")));
            t.msg("layer-check-position").arg("latitude", latitude).arg("longitude", longitude)
        });
        let area = problem.area.map(|area| t.amount(&format!("{area:.2}")));
        Self {
            kind: kind_name(t, problem.kind),
            shapes: shown.collect(),
            area: area.map(|area| format!("{area} m²")).unwrap_or_default(),
            place: place.map(String::from).unwrap_or_default(),
            link,
        }
    }
}

fn kind_name(t: Localizer, kind: ProblemKind) -> Message {
    t.msg("layer-check-kind").arg("kind", kind.name())
}

/// The tolerance of a form; `None` if it is not one.
fn parse_tolerance(t: Localizer, typed: &str) -> Option<f64> {
    let number: f64 = t.parse_decimal(typed)?.parse().ok()?;
    LayerCheckOptions::TOLERANCES.contains(&number).then_some(number)
}

async fn show(
    ctx: &MemberContext,
    layer: &Layer,
    typed: &str,
    findings: Option<Findings>,
    error: Option<Message>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let label = t.msg("layer-check-tolerance");
    let mut tolerance = Field::new("tolerance", label, Input::Decimal).value(typed).required();
    tolerance = tolerance.hint(t.msg("layer-check-tolerance-hint"));
    tolerance.error = error.map(String::from);
    let content = CheckPage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        tabs: LayerTabs::new(ctx, layer, "check").await?,
        tolerance,
        findings,
    };
    let title = t.msg("layer-check-title").arg("name", &layer.name);
    ctx.page_with_status(status, Meta::new(title, Nav::Settings), &content).await
}

pub(in crate::web) async fn page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let default = ctx.t().decimal_input(&LayerCheckOptions::DEFAULT_TOLERANCE.to_string());
    show(&ctx, &layer, &default, None, None).await
}

/// Checks the layer and shows what was found.
pub(in crate::web) async fn run(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let typed = form.get("tolerance").trim();
    let Some(tolerance) = parse_tolerance(ctx.t(), typed) else {
        let error = ctx.t().msg("layer-check-invalid-tolerance");
        return show(&ctx, &layer, typed, None, Some(error)).await;
    };
    let slot = ctx.check_slot().await?;
    // Dropped with this request: a check for a client that has gone away ends.
    let (_client, gone) = oneshot::channel::<()>();
    let (store, workspace, key) = (ctx.store().clone(), ctx.workspace_id(), LayerKey::Id(layer.id));
    let runtime = Handle::current();
    let checked = spawn_blocking(move || {
        let _slot = slot;
        let check = pin!(check_layer(&store, workspace, &key, tolerance, MAX_LISTED));
        match runtime.block_on(select(check, gone)) {
            Either::Left((checked, _)) => checked.map(Some),
            Either::Right(_) => Ok(None),
        }
    });
    let checked = checked.await.map_err(|error| WebError::internal(error.to_string()))??;
    let findings = checked.map(|checked| Findings::new(&ctx, &checked, tolerance));
    show(&ctx, &layer, typed, findings, None).await
}

/// Tells what a repair would change, or repairs the layer once that is confirmed.
pub(in crate::web) async fn repair(
    ctx: MemberContext,
    Path(key): Path<String>,
    query: Query,
    form: Form,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let layer = existing(&ctx, &key).await?;
    let typed = query.given("tolerance").unwrap_or_else(|| form.get("tolerance")).to_owned();
    let tolerance = parse_tolerance(t, &typed)
        .ok_or_else(|| WebError::bad_request(id("layer-check-invalid-tolerance")))?;
    let back = format!("{PATH}/{}/check", layer.id);
    let is_confirmed = query.get("confirmed") == "true";
    let outcome = repair_layer(&ctx, &layer, tolerance, !is_confirmed).await?;
    if outcome == RepairOutcome::default() {
        return Ok(ctx.redirect_with_flash(&back, &Flash::new(t.msg("layer-check-nothing"))));
    }
    let tell = |message: Message| {
        message.arg("repaired", outcome.repaired).arg("deleted", outcome.deleted)
    };
    if is_confirmed {
        let message = tell(t.msg("layer-check-repaired"));
        return Ok(ctx.redirect_with_flash(&back, &Flash::new(message)));
    }
    let confirm = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: t.msg("layer-check-repair-title").arg("name", &layer.name).into(),
        text: tell(t.msg("layer-check-repair-text")).into(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{}/repair?confirmed=true&tolerance={}", layer.id, encode(&typed)),
        cancel: back,
        button: t.msg("layer-check-repair").into(),
    };
    confirm.show(&ctx).await
}

async fn repair_layer(
    ctx: &MemberContext,
    layer: &Layer,
    tolerance: f64,
    is_dry_run: bool,
) -> Result<RepairOutcome, WebError> {
    let slot = ctx.check_slot().await?;
    let repair = LayerRepair {
        workspace: ctx.workspace_id(),
        actor: ctx.actor(),
        layer: LayerKey::Id(layer.id),
        tolerance,
        is_dry_run,
        now: ctx.now(),
    };
    let store = ctx.store().clone();
    // This can take long: finish even when the browser disconnects.
    let repaired = tokio::spawn(async move {
        let _slot = slot;
        store.repair_layer(repair).await
    });
    Ok(repaired.await.map_err(|error| WebError::internal(error.to_string()))??)
}

impl From<LayerCheckError> for WebError {
    fn from(error: LayerCheckError) -> Self {
        match error {
            LayerCheckError::Store(error) => error.into(),
            LayerCheckError::NotFound(_) => Self::not_found(),
            LayerCheckError::Crs(error) => Self::invalid(error.message()),
            LayerCheckError::Damaged(error) => Self::internal(error.to_string()),
        }
    }
}
