//! Workbooks: their limits, formulas and links.

use super::*;

/// The rows of the first sheet, or the message about what is wrong.
pub(super) fn rows(path: &Path) -> Result<Vec<(u64, crate::xlsx::SheetRow)>, String> {
    let mut rows = Vec::new();
    let result = crate::xlsx::read(&File::open(path).unwrap(), None, |number, row| {
        rows.push((number, row));
        true
    });
    result.map(|()| rows).map_err(|error| error.to_string())
}

/// A workbook with this sheet, and these parts besides.
fn workbook(directory: &TempDir, sheet: &str, parts: &[(&str, &str)]) -> PathBuf {
    let relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relationship = |kind: &str, target: &str| {
        format!(
            "<Relationships><Relationship Id='r1' Type='{relationships}/{kind}' Target='{target}'/>\
             </Relationships>"
        )
    };
    let root = relationship("officeDocument", "xl/workbook.xml");
    let of_workbook = relationship("worksheet", "worksheets/sheet1.xml");
    let book = format!(
        "<workbook xmlns:r='{relationships}'><sheets><sheet name='a' sheetId='1' r:id='r1'/></sheets></workbook>"
    );
    let mut all = vec![
        ("_rels/.rels", root.as_str()),
        ("xl/_rels/workbook.xml.rels", &of_workbook),
        ("xl/workbook.xml", &book),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    for part in parts {
        all.retain(|(name, _)| *name != part.0);
        all.push(*part);
    }
    let entries: Vec<(&str, &[u8])> =
        all.into_iter().map(|(name, text)| (name, text.as_bytes())).collect();
    archive(directory, "a.xlsx", &entries)
}

fn sheet(rows: &str) -> String {
    format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")
}

#[track_caller]
fn assert_unreadable(path: &Path, message: &str) {
    let error = rows(path).unwrap_err();
    assert!(error.contains(message), "{error}");
}

#[test]
fn formulas_count_by_their_results_and_links_are_not_followed() {
    let directory = TempDir::new().unwrap();
    let link = "<externalLink><externalBook r:id='r1'/></externalLink>";
    let target = "<Relationships><Relationship Id='r1' TargetMode='External' Target='http://127.0.0.1:1/a.xlsx' \
        Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLinkPath'/></Relationships>";
    let cells = sheet(
        "<row r='1'><c r='A1'><f>[1]Sheet1!A1*2</f><v>5</v></c><c r='B1' t='str'><f>HYPERLINK(\"x\")</f><v>x</v></c></row>",
    );
    let parts = [
        ("xl/externalLinks/externalLink1.xml", link),
        ("xl/externalLinks/_rels/externalLink1.xml.rels", target),
    ];
    let found = rows(&workbook(&directory, &cells, &parts)).unwrap();
    assert_eq!(found, [(1, Ok(vec![Some("5".to_owned()), Some("x".to_owned())]))]);
}

#[test]
fn formula_without_a_result_rejects_its_row() {
    let directory = TempDir::new().unwrap();
    let cells = sheet(
        "<row r='1'><c r='A1'><v>1</v></c><c r='B1' t='str'><f>\"\"</f><v></v></c><c r='C1'><v>2</v></c></row>\
         <row r='2'><c r='A2'><v>1</v></c><c r='B2'><f>A2*2</f><v></v></c></row>\
         <row r='3'><c r='B3'><f>A3*2</f></c><c r='AB3'><f t='shared' si='0'/></c></row>\
         <row r='4'><c r='AB4' s='0'><f t='shared' si='0'/><v/></c></row>\
         <row r='5'><c r='A5' s='0'/><c r='B5'><v>3</v></c></row>",
    );
    let found = rows(&workbook(&directory, &cells, &[])).unwrap();
    let found: Vec<_> = found.into_iter().map(|(_, row)| row.map_err(|e| e.to_string())).collect();
    let cell = |text: &str| Some(text.to_owned());
    let rejected = |cell: &str| {
        Err(format!(
            "cell {cell} has a formula without a result; open the file in a spreadsheet program and save it"
        ))
    };
    assert_eq!(
        found,
        [
            Ok(vec![cell("1"), None, cell("2")]),
            rejected("B2"),
            rejected("B3"),
            rejected("AB4"),
            Ok(vec![None, cell("3")]),
        ]
    );
}

#[test]
fn workbook_that_lies_about_its_texts_is_rejected() {
    let directory = TempDir::new().unwrap();
    let cells = sheet("<row r='1'><c r='A1' t='s'><v>0</v></c></row>");
    let texts = |count: &str| {
        let texts = format!("<sst uniqueCount='{count}'><si><t>one</t></si></sst>");
        workbook(&directory, &cells, &[("xl/sharedStrings.xml", &texts)])
    };
    assert_eq!(rows(&texts("2")).unwrap(), [(1, Ok(vec![Some("one".to_owned())]))]);
    assert_unreadable(&texts("999999999999"), "announces too many texts");
    let many = format!("<sst>{}</sst>", "<si/>".repeat(200_000));
    let path = workbook(&directory, &cells, &[("xl/sharedStrings.xml", &many)]);
    assert_unreadable(&path, "`xl/sharedStrings.xml` has too many bytes");
}

#[test]
fn document_types_and_entities_are_rejected() {
    let directory = TempDir::new().unwrap();
    let bomb = "<!DOCTYPE sst [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>";
    let cells = sheet("<row r='1'><c r='A1' t='str'><v>&b;</v></c></row>");
    let path = workbook(&directory, &format!("{bomb}{cells}"), &[]);
    assert_unreadable(&path, "`xl/worksheets/sheet1.xml` has a document type definition");
    let texts = format!("{bomb}<sst><si><t>&b;</t></si></sst>");
    let path = workbook(&directory, &sheet(""), &[("xl/sharedStrings.xml", &texts)]);
    assert_unreadable(&path, "`xl/sharedStrings.xml` has a document type definition");
    assert_unreadable(&workbook(&directory, &cells, &[]), "cannot be read");
}

#[test]
fn large_cells_and_wide_rows_are_rejected() {
    let directory = TempDir::new().unwrap();
    let filler = "x".repeat(4 << 20);
    let cell = |content: &str| {
        workbook(&directory, &sheet(&format!("<row><c t='inlineStr'>{content}</c></row>")), &[])
    };
    let one = format!("<is><t>{filler}</t></is>");
    assert_unreadable(&cell(&one), "has a cell of too many bytes");
    let run = format!("<r><t>{}</t></r>", &filler[..1 << 20]);
    let many = format!("<is>{}</is>", run.repeat(5));
    assert_unreadable(&cell(&many), "has a cell of too many bytes");
    let wide = sheet(&format!("<row>{}</row>", "<c><v>1</v></c>".repeat(1_951)));
    assert_unreadable(&workbook(&directory, &wide, &[]), "has more than 1950 cells");
}

#[test]
fn row_that_repeats_a_long_text_is_rejected() {
    let directory = TempDir::new().unwrap();
    let texts = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(100_000));
    let rows = |cells: usize| {
        let row = format!("<row>{}</row>", "<c t='s'><v>0</v></c>".repeat(cells));
        workbook(&directory, &sheet(&row.repeat(2)), &[("xl/sharedStrings.xml", &texts)])
    };
    assert_unreadable(&rows(11), "row 1 has more than 1 MiB");
    assert_eq!(super::rows(&rows(10)).unwrap().len(), 2);
}

#[test]
fn sheet_must_be_xml() {
    let directory = TempDir::new().unwrap();
    let target = "<Relationships><Relationship Id='r1' Target='evil.bin' \
        Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet'/></Relationships>";
    let parts = [("xl/_rels/workbook.xml.rels", target), ("xl/evil.bin", "<worksheet/>")];
    assert_unreadable(&workbook(&directory, "<a/>", &parts), "names a sheet that is not XML");
}
