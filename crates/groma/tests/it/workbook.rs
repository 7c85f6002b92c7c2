//! Excel workbooks with several sheets, for imports.

use std::io::{Cursor, Write};
use zip::{ZipWriter, write::SimpleFileOptions};

/// A workbook with these sheets: their names and rows.
pub(crate) fn workbook(sheets: &[(&str, &[&[&str]])]) -> Vec<u8> {
    const RELATIONSHIPS: &str =
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relationship = |id: usize, kind: &str, target: &str| {
        format!("<Relationship Id='r{id}' Type='{RELATIONSHIPS}/{kind}' Target='{target}'/>")
    };
    let root = relationship(0, "officeDocument", "xl/workbook.xml");
    let mut parts =
        vec![("_rels/.rels".to_owned(), format!("<Relationships>{root}</Relationships>"))];
    let (mut list, mut relationships) = (String::new(), String::new());
    for (id, (name, rows)) in (1..).zip(sheets) {
        let part = format!("worksheets/sheet{id}.xml");
        list.push_str(&format!("<sheet name='{name}' sheetId='{id}' r:id='r{id}'/>"));
        relationships.push_str(&relationship(id, "worksheet", &part));
        let cell = |text: &&str| format!("<c t='inlineStr'><is><t>{text}</t></is></c>");
        let row =
            |cells: &&[&str]| format!("<row>{}</row>", cells.iter().map(cell).collect::<String>());
        let rows: String = rows.iter().map(row).collect();
        let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
        parts.push((format!("xl/{part}"), sheet));
    }
    let book = format!("<workbook xmlns:r='{RELATIONSHIPS}'><sheets>{list}</sheets></workbook>");
    parts.push(("xl/workbook.xml".to_owned(), book));
    let relationships = format!("<Relationships>{relationships}</Relationships>");
    parts.push(("xl/_rels/workbook.xml.rels".to_owned(), relationships));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
