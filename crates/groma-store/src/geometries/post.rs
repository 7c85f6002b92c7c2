//! Posted geometries, written.

use super::{
    board::Board,
    spool::{Prepared, Spool},
    tally::{self, Tally},
};
use crate::{
    Actor, Change, Command, Error, Result,
    change::Apply,
    replays::{self, Replayable},
    tx::{self, FeatureRow, LayerWrite, LogRow, StoredFeature, StoredLayer, Tx, Work, Write},
};
use groma_domain::{
    DomainError, GeometryId, Kind, Layer, LayerId, Permission, Record, RecordId, Timestamp,
    WorkspaceId,
    geometry::{MAX_LISTED_GEOMETRIES, UploadResult, UploadedGeometry},
    layer::{DEFAULT_LAYER_SLUG, LayerKey},
    reference::Key,
};
use groma_geo::{Bbox, attributes, tile_shape::TileShape};
use std::{
    collections::{BTreeMap, HashMap},
    thread,
};

/// From so many features on they are drawn by a thread of their own, while their rows are written.
const MANY: usize = 1_000;

/// Geometries to be written together.
#[derive(Clone)]
pub struct NewGeometries {
    /// Where.
    pub workspace: WorkspaceId,
    /// Who.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
    /// Into which layer; `None` for the one of submissions.
    pub layer: Option<LayerKey>,
    /// The folder they belong to.
    pub folder: Option<String>,
    /// The assignment they belong to.
    pub assignment: Option<String>,
    /// What was read.
    pub features: Spool,
    /// The request, when it may be sent again.
    pub request: Option<Replayable>,
}

/// What came of posted geometries.
#[derive(Debug)]
pub enum Outcome {
    /// They are written.
    Posted(UploadResult),
    /// The request had been answered before, with this.
    Replayed(Vec<u8>),
}

/// Writes geometries.
#[derive(Clone)]
pub(crate) struct Post(pub(crate) NewGeometries);

impl Work for Post {
    type Output = Outcome;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Outcome> {
        let NewGeometries { workspace, actor, now, layer, folder, assignment, features, request } =
            self.0;
        let not_found =
            || DomainError::NotFound { resource: "workspace", key: workspace.to_string() };
        tx.lock_workspace(workspace).await?.ok_or_else(not_found)?;
        actor.role().require(Permission::ChangeRecords)?;
        if let Some(answer) = replays::find(tx, workspace, request.as_ref(), now).await? {
            return Ok(Outcome::Replayed(answer));
        }
        let links = Links::find(tx, workspace, folder, assignment).await?;
        let (stored, is_new) = find_layer(tx, workspace, layer, now).await?;
        let mut posting = Posting::new(tx, workspace, now, links, stored, features.len());
        posting.write_all(features).await?;
        posting.finish(actor, is_new, request).await
    }
}

/// The layer that is asked for, and whether it was made for that.
async fn find_layer<T: Tx>(
    tx: &mut T,
    workspace: WorkspaceId,
    key: Option<LayerKey>,
    now: Timestamp,
) -> Result<(StoredLayer, bool)> {
    let wanted = key.clone().unwrap_or_else(|| LayerKey::Slug(DEFAULT_LAYER_SLUG.to_owned()));
    if let Some(found) = tx.layer(workspace, &wanted).await? {
        return Ok((found, false));
    }
    if key.is_some() {
        return Err(DomainError::invalid("layer", "names no layer of this workspace").into());
    }
    let nth = tx.layers(workspace).await?.len();
    let layer = Layer::new(LayerId::new(now, tx::random()), "Submissions", nth, now)?;
    tx.write(workspace, vec![Write::Layer(LayerWrite::Insert(layer))]).await?;
    let made = tx.layer(workspace, &wanted).await?;
    Ok((made.ok_or(Error::Closed)?, true))
}

/// What the geometries belong to; `None` leaves a replaced one where it is.
#[derive(Clone, Copy, Default)]
pub(super) struct Links {
    folder: Option<RecordId>,
    assignment: Option<RecordId>,
}

impl Links {
    pub(super) async fn find<T: Tx>(
        tx: &mut T,
        workspace: WorkspaceId,
        folder: Option<String>,
        assignment: Option<String>,
    ) -> Result<Self> {
        let folder = match folder {
            Some(key) => Some(find_record(tx, workspace, Kind::Folder, &key).await?.id()),
            None => None,
        };
        let Some(key) = assignment else { return Ok(Self { folder, assignment: None }) };
        let assignment = find_record(tx, workspace, Kind::Assignment, &key).await?;
        if folder.is_some() && folder != assignment.folder() {
            return Err(DomainError::invalid("assignment", "belongs to another folder").into());
        }
        Ok(Self { folder: assignment.folder(), assignment: Some(assignment.id()) })
    }
}

async fn find_record<T: Tx>(
    tx: &mut T,
    workspace: WorkspaceId,
    kind: Kind,
    key: &str,
) -> Result<Record> {
    let found = match Key::parse(key) {
        Some(key) => tx.find(workspace, kind, &key).await?,
        None => None,
    };
    let none = || DomainError::invalid(kind.name(), format!("names no {} here", kind.name()));
    Ok(found.ok_or_else(none)?.record)
}

pub(super) struct Posting<'t, T> {
    pub(super) tx: &'t mut T,
    workspace: WorkspaceId,
    now: Timestamp,
    layer: u64,
    links: Links,
    pub(super) posted: UploadResult,
    pub(super) tally: Tally,
    /// The layer's numbers of the spool's fields.
    fields: Vec<u32>,
    /// How the boxes of folders grow; `None` when something left and it has to be measured anew.
    folders: BTreeMap<RecordId, Option<Bbox>>,
    next_id: u128,
}

fn spooled(source: std::io::Error) -> Error {
    Error::File { path: "features waiting to be written".into(), source }
}

/// What a feature that comes or goes changes on the shelves.
struct Step {
    seq: u64,
    /// Whether there was one of this number before.
    is_known: bool,
    old_centre: Option<u64>,
    drawing: Option<TileShape>,
    attributes: Vec<u8>,
}

impl<'t, T: Tx> Posting<'t, T> {
    pub(super) fn new(
        tx: &'t mut T,
        workspace: WorkspaceId,
        now: Timestamp,
        links: Links,
        stored: StoredLayer,
        received: u64,
    ) -> Self {
        Self {
            tx,
            workspace,
            now,
            layer: stored.no,
            links,
            posted: UploadResult {
                layer_id: stored.layer.id,
                received,
                created: 0,
                updated: 0,
                unchanged: 0,
                bbox: None,
                geometries: Vec::new(),
                truncated: received > MAX_LISTED_GEOMETRIES as u64,
            },
            tally: Tally::new(stored.layer),
            fields: Vec::new(),
            folders: BTreeMap::new(),
            next_id: u128::from_be_bytes(tx::random()),
        }
    }

    /// Replaces one feature by the only one of the spool.
    pub(super) async fn replace(&mut self, old: StoredFeature, features: Spool) -> Result<()> {
        let (names, mut reader) = features.read();
        self.fields = names.iter().map(|name| self.tally.number(name) as u32).collect();
        let Some(mut prepared) = reader.next_part().map_err(spooled)?.pop() else { return Ok(()) };
        prepared.external_id.clone_from(&old.external_id);
        let mut writes = Vec::new();
        let step = self.write_feature(prepared, Some(&old), &mut writes)?;
        writes.extend(self.tally.grown(self.layer));
        self.write_and_draw(writes, step.into_iter().collect()).await
    }

    /// Takes one feature away.
    pub(super) async fn remove(&mut self, old: StoredFeature) -> Result<()> {
        let geometry = self.tally.remove(&old)?;
        if let (Some(folder), Some(_)) = (old.folder, &geometry) {
            self.folders.insert(folder, None);
        }
        let (layer, seq) = (self.layer, old.seq);
        let remove = LayerWrite::RemoveFeature { layer, seq, external_id: old.external_id.clone() };
        let old_centre = geometry.as_ref().and_then(TileShape::centre_of);
        let gone = Step { seq, is_known: true, old_centre, drawing: None, attributes: Vec::new() };
        self.write_and_draw(vec![Write::Layer(remove)], vec![gone]).await
    }

    async fn write_all(&mut self, features: Spool) -> Result<()> {
        let (names, mut reader) = features.read();
        self.fields = names.iter().map(|name| self.tally.number(name) as u32).collect();
        loop {
            let part = reader.next_part().map_err(spooled)?;
            if part.is_empty() {
                return Ok(());
            }
            self.write_part(part).await?;
        }
    }

    async fn write_part(&mut self, part: Vec<Prepared>) -> Result<()> {
        let ids: Vec<&str> = part.iter().filter_map(|f| f.external_id.as_deref()).collect();
        let mut known: HashMap<String, StoredFeature> = HashMap::new();
        if !ids.is_empty() {
            let found = self.tx.features_by_external_id(self.workspace, self.layer, &ids).await?;
            let by_id = |feature: StoredFeature| Some((feature.external_id.clone()?, feature));
            known.extend(found.into_iter().filter_map(by_id));
        }
        let mut writes = Vec::new();
        let mut steps = Vec::new();
        for prepared in part {
            let old = prepared.external_id.as_ref().and_then(|id| known.remove(id));
            steps.extend(self.write_feature(prepared, old.as_ref(), &mut writes)?);
        }
        writes.extend(self.tally.grown(self.layer));
        self.write_and_draw(writes, steps).await
    }

    /// Writes a feature unless it is there already; the step is what its drawing takes.
    fn write_feature(
        &mut self,
        mut prepared: Prepared,
        old: Option<&StoredFeature>,
        writes: &mut Vec<Write>,
    ) -> Result<Option<Step>> {
        let drawing = prepared.drawing();
        let Prepared { external_id, geometry, properties, attributes } = prepared;
        let bbox = geometry.as_ref().and_then(|geometry| geometry.bbox).map(Bbox);
        if let Some(bbox) = bbox {
            self.posted.bbox = Some(self.posted.bbox.map_or(bbox, |all| all.union(bbox)));
        }
        let (kind, sort) = geometry.as_ref().map_or((None, None), |geometry| {
            let (kind, sort) = geometry.kind();
            (Some(kind), Some(sort))
        });
        let has_heights = geometry.as_ref().is_some_and(|geometry| geometry.has_heights);
        let (seq, id, created_at) = match old {
            Some(old) => (old.seq, old.id, old.created_at),
            None => (self.tally.layer.last_seq + 1, self.new_id(), self.now),
        };
        if self.posted.geometries.len() < MAX_LISTED_GEOMETRIES {
            let external_id = external_id.clone();
            self.posted.geometries.push(UploadedGeometry { id, external_id, kind });
        }
        let old_links = old.map(|old| (old.folder, old.assignment)).unwrap_or_default();
        let feature = StoredFeature {
            seq,
            id,
            external_id,
            folder: self.links.folder.or(old_links.0),
            assignment: match self.links {
                Links { folder: None, .. } => old_links.1,
                Links { assignment, .. } => assignment,
            },
            geometry: geometry.map(|geometry| geometry.wkb),
            properties,
            created_at,
            updated_at: self.now,
        };
        if old.is_some_and(|old| old.is_same(&feature)) {
            self.posted.unchanged += 1;
            return Ok(None);
        }
        let attributes = attributes::renumber_fields(&attributes, &self.fields);
        let mut old_centre = None;
        match old {
            None => {
                self.posted.created += 1;
                self.tally.layer.last_seq = seq;
            }
            Some(old) => {
                self.posted.updated += 1;
                let geometry = self.tally.remove(old)?;
                old_centre = geometry.as_ref().and_then(TileShape::centre_of);
                if let (Some(folder), Some(_)) = (old.folder, geometry) {
                    self.folders.insert(folder, None);
                }
            }
        }
        self.tally.add(seq, sort, bbox, &attributes);
        if let (Some(folder), Some(bbox)) = (feature.folder, bbox) {
            let grown = self.folders.entry(folder).or_insert(Some(bbox));
            *grown = grown.map(|grown| grown.union(bbox));
        }
        let is_new = old.is_none();
        let row = FeatureRow { layer: self.layer, is_new, has_heights, feature, at: self.now };
        writes.push(Write::Layer(LayerWrite::SaveFeature(row)));
        Ok(Some(Step { seq, is_known: !is_new, old_centre, drawing, attributes }))
    }

    /// Writes what is to be written, and brings the shelves up to date.
    async fn write_and_draw(&mut self, mut writes: Vec<Write>, steps: Vec<Step>) -> Result<()> {
        let (board, layer, are_many) = (self.board(&steps).await?, self.layer, steps.len() >= MANY);
        let draw = move || draw(board, layer, steps);
        let drawn = if are_many {
            let drawing = thread::Builder::new().name("drawing".to_owned()).spawn(draw);
            let drawing =
                drawing.map_err(|source| Error::File { path: "drawing".to_owned(), source })?;
            self.tx.write(self.workspace, std::mem::take(&mut writes)).await?;
            drawing.join().map_err(|_| Error::Damaged("drawing features panicked".to_owned()))?
        } else {
            draw()
        };
        for (shelf, class) in drawn.reach {
            let reach = self.tally.layer.max_size_class.entry(shelf).or_default();
            *reach = (*reach).max(class);
        }
        writes.extend(drawn.writes);
        if writes.is_empty() { Ok(()) } else { self.tx.write(self.workspace, writes).await }
    }

    /// The part of the shelves that these steps concern.
    async fn board(&mut self, steps: &[Step]) -> Result<Board> {
        // A layer that never had anything has nothing on its shelves.
        let is_empty = self.tally.layer.max_size_class.is_empty();
        self.tally.layer.has_small_feature_tier |= is_empty;
        let mut board = Board::new(&self.tally.layer);
        let centres = steps.iter().flat_map(|step| {
            [step.old_centre, step.drawing.as_ref().map(|drawing| drawing.centre)]
        });
        let needed = board.needed(centres.flatten());
        if !is_empty {
            board.load(self.tx.blocks(self.workspace, self.layer, &needed).await?);
        }
        Ok(board)
    }

    pub(super) async fn finish(
        mut self,
        actor: Actor,
        is_new: bool,
        request: Option<Replayable>,
    ) -> Result<Outcome> {
        let mut writes = Vec::new();
        if self.posted.created + self.posted.updated > 0 {
            self.tally.shrink(self.tx, self.workspace, self.layer).await?;
            self.place_folders(actor).await?;
            let layer = &mut self.tally.layer;
            layer.revision += 1;
            layer.updated_at = self.now;
            writes.push(Write::Layer(LayerWrite::Save(layer.clone())));
        }
        if is_new || !writes.is_empty() {
            let UploadResult { received, created, updated, unchanged, .. } = self.posted;
            let after = serde_json::json!({ "received": received, "created": created,
                "updated": updated, "unchanged": unchanged });
            writes.push(Write::LogChange(LogRow {
                at: self.now,
                actor: actor.person(),
                action: "geometries.posted",
                subject: self.posted.layer_id.0,
                before: None,
                after: Some(after.to_string()),
            }));
        }
        if let Some(request) = request {
            let answer = serde_json::to_vec(&self.posted)?;
            writes.push(replays::plain(request, answer, self.now));
        }
        if !writes.is_empty() {
            self.tx.write(self.workspace, writes).await?;
        }
        Ok(Outcome::Posted(self.posted))
    }

    /// Gives folders the boxes of their geometries.
    pub(super) async fn place_folders(&mut self, actor: Actor) -> Result<()> {
        let folders = std::mem::take(&mut self.folders);
        place_folders(self.tx, self.workspace, actor, self.now, folders).await
    }

    fn new_id(&mut self) -> GeometryId {
        self.next_id = self.next_id.wrapping_add(1);
        let [_, _, _, _, _, _, random @ ..] = self.next_id.to_be_bytes();
        GeometryId::new(self.now, random)
    }
}

/// What came of drawing features.
struct Drawn {
    /// The largest class on each shelf that was touched.
    reach: Vec<(u8, u8)>,
    writes: Vec<Write>,
}

/// Carries out steps on the board.
fn draw(mut board: Board, layer: u64, steps: Vec<Step>) -> Drawn {
    let mut writes = Vec::new();
    for step in steps {
        let seq = step.seq;
        if let Some(centre) = step.old_centre {
            board.leave(seq, centre);
        }
        if step.is_known {
            writes.push(LayerWrite::RemoveLong { layer, seq });
        }
        let Some(drawing) = step.drawing else { continue };
        board.enter(seq, &drawing, &step.attributes);
        writes.extend(drawing.levels.into_iter().map(|level| LayerWrite::SaveLong {
            layer,
            seq,
            zoom: level.max_zoom,
            shape: level.bytes,
        }));
    }
    let reach = board.reach().collect();
    writes.extend(board.finish(layer));
    Drawn { reach, writes: writes.into_iter().map(Write::Layer).collect() }
}

/// Gives folders the boxes of their geometries: grown by what came, or measured anew (`None`).
pub(crate) async fn place_folders<T: Tx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
    folders: impl IntoIterator<Item = (RecordId, Option<Bbox>), IntoIter: Send>,
) -> Result<()> {
    let mut commands = Vec::new();
    for (folder, grown) in folders {
        let stored = tx.find(workspace, Kind::Folder, &Key::Id(folder)).await?;
        let Some(stored) = stored else { continue };
        let before = stored.record.into_folder().and_then(|folder| folder.bbox);
        let bbox = match grown {
            Some(grown) => Some(before.map_or(grown, |before| before.union(grown))),
            None => {
                let shapes = tx.shapes_of_folder(workspace, folder).await?;
                tally::around(shapes.iter().map(Vec::as_slice))?
            }
        };
        if bbox != before {
            commands.push(Command::Place { folder, bbox });
        }
    }
    if commands.is_empty() {
        return Ok(());
    }
    Apply(Change { workspace, actor, now, commands }).run(tx).await.map(drop)
}

impl StoredFeature {
    fn is_same(&self, other: &Self) -> bool {
        self.geometry == other.geometry
            && self.properties == other.properties
            && self.folder == other.folder
            && self.assignment == other.assignment
    }
}
