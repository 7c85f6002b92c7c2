//! A large workspace, created with `store.apply`.

use crate::{Result, commands::now};
use clap::Args;
use groma_domain::{
    Currency, Email, Kind, ListParams, Scope, SearchTerm, Timestamp, WorkspaceId,
    input::Field,
    person::PersonRef,
    record::{AssignmentInput, BudgetInput, ExpenseInput, FolderInput, RecordInput},
    reference::{Key, Reference},
    token::{Token, TokenPrefix},
    workspace::WorkspaceName,
};
use groma_store::{
    Actor, Change, Command, DatabaseUrl, NewToken, NewUser, SaveTarget, Store, WorkspaceFilter,
};
use std::time::Instant;

/// The name of the workspace.
pub(crate) const WORKSPACE: &str = "Bench";
/// The owner of the workspace.
pub(crate) const OWNER: &str = "owner@example.test";

/// The number of records of each kind.
#[derive(Args, Clone, Debug)]
pub(crate) struct Sizes {
    /// Folders.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) folders: u64,
    /// Assignments.
    #[arg(long, default_value_t = 3_000_000)]
    pub(crate) assignments: u64,
    /// Expenses.
    #[arg(long, default_value_t = 3_000_000)]
    pub(crate) expenses: u64,
    /// Budgets.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) budgets: u64,
}

impl Sizes {
    pub(crate) fn all(&self) -> u64 {
        self.folders + self.assignments + self.expenses + self.budgets
    }
}

/// The number of records per transaction.
const BATCH: u64 = 1_000;

/// Loads the missing records up to the sizes.
pub(crate) async fn run(database: &DatabaseUrl, sizes: &Sizes) -> Result {
    let store = Store::open(database).await?;
    let workspace = workspace(&store).await?;
    for (kind, wanted) in [
        (Kind::Folder, sizes.folders),
        (Kind::Assignment, sizes.assignments),
        (Kind::Budget, sizes.budgets),
        (Kind::Expense, sizes.expenses),
    ] {
        let there = count(&store, workspace, kind).await?;
        let start = Instant::now();
        let mut next = there;
        while next < wanted {
            let end = (next + BATCH).min(wanted);
            let commands = (next..end).map(|n| save(draft(kind, n, sizes))).collect();
            let change = Change { workspace, actor: Actor::Operator, now: now(), commands };
            store.apply(change).await?;
            next = end;
        }
        let (made, seconds) = (next - there, start.elapsed().as_secs_f64());
        if made > 0 {
            println!("{made} {} in {seconds:.1} s: {:.0}/s", kind.plural(), made as f64 / seconds);
        }
    }
    Ok(())
}

/// Writes a word into fifty folders, spread over the workspace.
pub(crate) async fn mark(store: &Store, folders: u64, word: &str) -> Result {
    const MARKED: u64 = 50;
    let workspace = workspace(store).await?;
    let params = ListParams {
        limit: 1,
        term: SearchTerm::parse(word).map_err(|problem| format!("{problem:?}"))?,
        ..ListParams::default()
    };
    if store.list(workspace, Kind::Folder, &params).await?.total == MARKED {
        return Ok(());
    }
    let mark = |n: u64| {
        let description = Field::Set(Some(format!(
            "Survey of the {word} at {}",
            PLACES[n as usize % PLACES.len()]
        )));
        let input = FolderInput { description, ..FolderInput::default() };
        let key = by_number(Kind::Folder, n * folders / MARKED);
        let target = SaveTarget::Existing { key, version: None };
        Command::Save { target, draft: Box::new(RecordInput::Folder(input)) }
    };
    let commands = (0..MARKED).map(mark).collect();
    store.apply(Change { workspace, actor: Actor::Operator, now: now(), commands }).await?;
    Ok(())
}

/// Finds or creates the workspace.
pub(crate) async fn workspace(store: &Store) -> Result<WorkspaceId> {
    let name = WorkspaceName::parse(WORKSPACE)?;
    if let Ok(workspace) = store.find_workspace(&WorkspaceFilter::Name(name.clone())).await {
        return Ok(workspace.id);
    }
    let owner = NewUser { email: Email::parse(OWNER)?, name: None, password_hash: None };
    Ok(store.create_workspace(name, Currency::EUR, owner, now()).await?.id)
}

/// New tokens with all read scopes, so that each run has new rate windows.
pub(crate) async fn tokens(
    store: &Store,
    workspace: WorkspaceId,
    count: u64,
) -> Result<Vec<Token>> {
    let prefix = TokenPrefix::parse("svc")?;
    let start = u64::try_from(jiff::Timestamp::now().as_nanosecond() & i128::from(u64::MAX))?;
    let mut tokens = Vec::new();
    for n in 0..count {
        let mut random = [0; 24];
        for (part, bytes) in (0..).zip(random.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&mix(start.wrapping_add(n * 3 + part)).to_le_bytes());
        }
        let token = Token::new(&prefix, random);
        let new = NewToken {
            id: None,
            workspace,
            owner: Email::parse(OWNER)?,
            name: "bench".to_owned(),
            hash: token.hash(),
            hint: token.hint(),
            scopes: Scope::ALL.into_iter().collect(),
            expires_at: None,
            is_read_only: false,
            notice: None,
        };
        store.create_token(new, Actor::Operator, now()).await?;
        tokens.push(token);
    }
    Ok(tokens)
}

async fn count(store: &Store, workspace: WorkspaceId, kind: Kind) -> Result<u64> {
    let params = ListParams { limit: 1, ..ListParams::default() };
    Ok(store.list(workspace, kind, &params).await?.total)
}

fn save(draft: RecordInput) -> Command {
    Command::Save { target: SaveTarget::New, draft: Box::new(draft) }
}

fn draft(kind: Kind, n: u64, sizes: &Sizes) -> RecordInput {
    let place = PLACES[mix(n) as usize % PLACES.len()];
    let work = JOB_TYPES[mix(n ^ 0x5bd1) as usize % JOB_TYPES.len()];
    let text = |text: String| Field::Set(Some(text));
    // Consecutive records share a folder, as in real use.
    let folder =
        |of: u64, folders: u64| Field::Set(by_number(Kind::Folder, n * folders / of.max(1)));
    // The dates advance, with a deviation of up to two weeks.
    let day = |of: u64| day(n * DAYS / of.max(1) + mix(n) % 14);
    match kind {
        Kind::Folder => RecordInput::Folder(FolderInput {
            name: Field::Set(format!("{place}, {work} {n}")),
            description: text(format!(
                "{work} for the {} at {place}",
                CLIENTS[n as usize % CLIENTS.len()]
            )),
            client_name: text(CLIENTS[n as usize % CLIENTS.len()].to_owned()),
            owner: Field::Set(Some(person(n))),
            start_date: Field::Set(Some(day(sizes.folders))),
            tags: Field::Set(vec![work.to_owned()]),
            ..FolderInput::default()
        }),
        Kind::Assignment => RecordInput::Assignment(AssignmentInput {
            folder: folder(sizes.assignments, sizes.folders),
            title: Field::Set(format!("{work}, part {}", n % 7)),
            description: text(format!("{place}: {work} {n}")),
            assignees: Field::Set(vec![person(n)]),
            due_date: Field::Set(Some(day(sizes.assignments))),
            ..AssignmentInput::default()
        }),
        Kind::Expense => RecordInput::Expense(ExpenseInput {
            folder: folder(sizes.expenses, sizes.folders),
            category: text("Travel".to_owned()),
            description: text(format!("To {place}, {n}")),
            vendor: text("Car hire".to_owned()),
            unit_amount: Field::Set((i64::from(n as u32 % 90_000) + 100).into()),
            incurred_on: Field::Set(day(sizes.expenses)),
            submitted_by: Field::Set(Some(person(n))),
            ..ExpenseInput::default()
        }),
        Kind::Budget => RecordInput::Budget(BudgetInput {
            folder: folder(sizes.budgets, sizes.folders),
            name: Field::Set(format!("{work} {n}")),
            amount: Field::Set((i64::from(n as u32 % 90_000) + 1_000).into()),
            ..BudgetInput::default()
        }),
    }
}

/// The key of the n-th record with a generated reference.
fn by_number(kind: Kind, n: u64) -> Key {
    Key::Reference(Reference::generated(kind, n + 1))
}

fn person(n: u64) -> PersonRef {
    let email = Email::parse(&format!("field.crew.{}@example.test", n % 40));
    #[expect(clippy::expect_used, reason = "the address is well formed")]
    PersonRef::Email(email.expect("an address"))
}

/// The number of days over which the records are spread.
const DAYS: u64 = 900;

fn day(n: u64) -> groma_domain::time::Date {
    Timestamp::from_millis(1_700_000_000_000 + n as i64 * 86_400_000).date()
}

/// Hashes a number.
pub(crate) fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

const PLACES: [&str; 12] = [
    "Chêne",
    "Valmont",
    "Rivière-Haute",
    "Sainte-Colombe",
    "Les Ormes",
    "Grandpré",
    "Montfleur",
    "Val-d'Aune",
    "Pierrefitte",
    "La Rochette",
    "Beaulieu",
    "Orgelet",
];
pub(crate) const JOB_TYPES: [&str; 8] = [
    "boundary survey",
    "as-built plan",
    "topographic survey",
    "set-out",
    "control network",
    "volume measurement",
    "easement plan",
    "utility mapping",
];
const CLIENTS: [&str; 4] =
    ["Town council", "Roads department", "Housing cooperative", "Water utility"];
