//! PostgreSQL as source or target of a copy.

use super::{
    BatchBuilder, Cell, Cells, Manifest, Message, NUMBERED, REHEARSED, Verifier,
    tables::{ColumnType, TABLES, Table},
    warn_unlogged,
};
use crate::{
    Error, Result,
    engine::{
        postgres::{CONNECTION_TIMEOUT, Postgres, Server, startup},
        statements,
    },
    security_log::{self, NewSecurityEntry},
};
use bytes::BytesMut;
use futures_util::TryStreamExt;
use groma_geo::{
    Geometry, Position,
    wkb::{from_wkb, to_ewkb},
};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_postgres::{
    Client, Row,
    binary_copy::BinaryCopyInWriter,
    types::{IsNull, ToSql, Type},
};
use uuid::Uuid;

statements! {
    BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    LOCK_TABLES = "LOCK TABLE workspaces, users IN SHARE ROW EXCLUSIVE MODE";
    IN_USE = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'groma'";
    LAST_NUMBER = "SELECT pg_sequence_last_value($1::text::regclass)";
    SET_LAST_NUMBER = "SELECT setval($1::text::regclass, $2)";
    DROP_MAILS = "UPDATE mails SET due_at = NULL, subject = '', body = ''";
    DISABLE_ENDPOINTS = "UPDATE webhook_endpoints SET enabled = false, disabled_reason = $1 WHERE enabled";
    ANALYZE = "ANALYZE";
}

/// How long the connections of a program that has just ended may remain.
const LINGERING: Duration = Duration::from_secs(3);

/// The source: one snapshot of a database.
pub(crate) struct Source(Client);

impl Source {
    pub(crate) async fn open(
        url: &str,
        rehearsal: bool,
        entry: NewSecurityEntry,
    ) -> Result<(Self, Manifest)> {
        let client = connect(url).await?;
        if !rehearsal {
            ensure_not_in_use(&client).await?;
        }
        drop(Postgres::open(url).await?);
        warn_unlogged(security_log::postgres::write_to(&client, entry).await);
        client.batch_execute(BEGIN_SNAPSHOT).await?;
        let manifest = manifest(&client).await?;
        Ok((Self(client), manifest))
    }

    pub(crate) async fn read(self, queue: mpsc::Sender<Message>) -> Result<()> {
        let send = async |message: Option<Message>| match message {
            Some(message) => queue.send(message).await.map_err(|_| Error::Closed),
            None => Ok(()),
        };
        for (index, table) in TABLES.iter().enumerate() {
            let mut batch = BatchBuilder::of(index);
            let nothing: [&(dyn ToSql + Sync); 0] = [];
            // Rows arrive as fast as they are consumed.
            let rows = self.0.query_raw(&table.postgres_read, nothing).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                send(batch.add(read_row(&row)?)).await?;
            }
            send(batch.close()).await?;
        }
        send(Some(Message::End)).await
    }
}

/// The target: one transaction.
pub(crate) struct Target(Client);

impl Target {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        ensure_not_in_use(&client).await?;
        drop(Postgres::open(url).await?);
        for table in TABLES.iter() {
            if client.query_one(&table.postgres_any, &[]).await?.try_get(0)? {
                let reason = "is not empty; a copy goes into an empty database";
                return Err(Error::Maintenance(format!("the table {} {reason}", table.name)));
            }
        }
        Ok(Self(client))
    }

    pub(crate) async fn write(
        mut self,
        mut queue: mpsc::Receiver<Message>,
        mut verifier: Verifier<'_>,
        rehearsal: bool,
    ) -> Result<()> {
        let transaction = self.0.transaction().await?;
        transaction.batch_execute(LOCK_TABLES).await?;
        let mut next = queue.recv().await;
        while let Some(Message::Rows(index, _)) = &next {
            let (index, table) = (*index, &TABLES[*index]);
            let types = transaction.prepare(&table.postgres_types).await?;
            let types: Vec<_> = types.columns().iter().map(|of| of.type_().clone()).collect();
            let sink = transaction.copy_in(&table.postgres_write).await?;
            let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
            while let Some(Message::Rows(of, rows)) = &mut next
                && *of == index
            {
                let count = rows.len();
                for row in std::mem::take(rows) {
                    let row = spread(table, row)?;
                    writer.as_mut().write_raw(row.iter()).await?;
                }
                verifier.add(index, count);
                next = queue.recv().await;
            }
            writer.finish().await?;
        }
        if next.is_none() {
            return Err(Error::Closed);
        }
        for ((_, sequence), number) in NUMBERED.iter().zip(verifier.expected.numbers) {
            if let Some(number) = number {
                transaction.execute(SET_LAST_NUMBER, &[sequence, &number]).await?;
            }
        }
        if rehearsal {
            transaction.execute(DISABLE_ENDPOINTS, &[&REHEARSED]).await?;
            transaction.execute(DROP_MAILS, &[]).await?;
        }
        verifier.verify(&manifest(transaction.client()).await?)?;
        transaction.commit().await?;
        self.0.batch_execute(ANALYZE).await?;
        Ok(())
    }
}

/// A connection that does not count as a running server.
async fn connect(url: &str) -> Result<Client> {
    let server = Server::parse(url)?.with_name("groma copy", CONNECTION_TIMEOUT);
    let connected = server.connect().await;
    let (client, connection) =
        connected.map_err(|error| startup::explain(error.into(), &server))?;
    tokio::spawn(connection);
    Ok(client)
}

async fn ensure_not_in_use(client: &Client) -> Result<()> {
    let deadline = Instant::now() + LINGERING;
    loop {
        let others: i64 = client.query_one(IN_USE, &[]).await?.try_get(0)?;
        if others == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            let reason =
                "the PostgreSQL database is in use by another Groma process; stop it first";
            return Err(Error::Maintenance(reason.to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn manifest(client: &Client) -> Result<Manifest> {
    let mut rows = Vec::with_capacity(TABLES.len());
    for table in TABLES.iter() {
        let count: i64 = client.query_one(&table.postgres_count, &[]).await?.try_get(0)?;
        rows.push(count.unsigned_abs());
    }
    let mut numbers = [None; 4];
    for ((_, sequence), number) in NUMBERED.iter().zip(&mut numbers) {
        *number = client.query_one(LAST_NUMBER, &[sequence]).await?.try_get(0)?;
    }
    Ok(Manifest { rows, numbers })
}

fn read_row(row: &Row) -> Result<Cells> {
    let cell = |index: usize| -> Result<Cell> {
        let read = match *row.columns()[index].type_() {
            Type::UUID => row.try_get::<_, Option<Uuid>>(index)?.map(Cell::Id),
            Type::INT2 => row.try_get::<_, Option<i16>>(index)?.map(|n| Cell::Int(n.into())),
            Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(|n| Cell::Int(n.into())),
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(Cell::Int),
            Type::BOOL => row.try_get::<_, Option<bool>>(index)?.map(|is| Cell::Int(is.into())),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(index)?.map(Cell::Real),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(Cell::Bytes),
            Type::INT8_ARRAY => row.try_get::<_, Option<Vec<i64>>>(index)?.map(Cell::Times),
            _ => row.try_get::<_, Option<String>>(index)?.map(Cell::Text),
        };
        Ok(read.unwrap_or(Cell::Null))
    };
    (0..row.len()).map(cell).collect()
}

/// Splits the geometry as PostgreSQL stores it: in two dimensions, and also as WKB if it has heights.
fn spread(table: &Table, row: Cells) -> Result<Cells> {
    let mut spread = Vec::with_capacity(row.len() + 1);
    for (column, cell) in table.columns.iter().zip(row) {
        match (column.column_type, cell) {
            (ColumnType::Shape, Cell::Bytes(wkb)) => {
                let mut geometry =
                    from_wkb(&wkb).map_err(|error| Error::Damaged(error.to_string()))?;
                let mut has_heights = false;
                geometry.each_position(&mut |at| has_heights |= at.z.is_some());
                flatten(&mut geometry);
                spread.push(Cell::Bytes(to_ewkb(&geometry)));
                spread.push(if has_heights { Cell::Bytes(wkb) } else { Cell::Null });
            }
            (ColumnType::Shape, _) => spread.extend([Cell::Null, Cell::Null]),
            (_, cell) => spread.push(cell),
        }
    }
    Ok(spread)
}

fn flatten(geometry: &mut Geometry) {
    let flat = |positions: &mut Vec<Position>| positions.iter_mut().for_each(|at| at.z = None);
    match geometry {
        Geometry::Point(at) => at.z = None,
        Geometry::MultiPoint(line) | Geometry::LineString(line) => flat(line),
        Geometry::MultiLineString(lines) | Geometry::Polygon(lines) => {
            lines.iter_mut().for_each(flat);
        }
        Geometry::MultiPolygon(polygons) => polygons.iter_mut().flatten().for_each(flat),
        Geometry::Collection(parts) => parts.iter_mut().for_each(flatten),
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => match *kind {
                Type::INT2 => i16::try_from(*number)?.to_sql(kind, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
                Type::BOOL => (*number != 0).to_sql(kind, out),
                _ => number.to_sql(kind, out),
            },
            Self::Real(number) => number.to_sql(kind, out),
            Self::Text(text) if *kind == Type::BYTEA => text.as_bytes().to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.as_slice().to_sql(kind, out),
            Self::Id(id) => id.to_sql(kind, out),
            Self::Times(times) => times.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}
