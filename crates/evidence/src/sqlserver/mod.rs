//! Views and procedures of SQL Server about its files.

pub(crate) mod blitz;
pub(crate) mod file_stats;
pub(crate) mod files;
mod names;

use straddle_stack::activity::Role;

use crate::errorlog::role_of;
use crate::notes::Notes;
use crate::subject::Subject;
use crate::table::Row;

const DATABASES: [&str; 7] = [
    "database_name",
    "databasename",
    "dbname",
    "db_name",
    "db",
    "database",
    "database_nm",
];

/// Where the path of a file stands.
const PATHS: [&str; 9] = [
    "physical_name",
    "physicalname",
    "file_physical_name",
    "filename",
    "file_name",
    "physical_file_name",
    "physicalfilename",
    "physical_path",
    "file_path",
];

/// Where the name of a file within its database stands.
const LOGICAL: [&str; 7] = [
    "file",
    "logical_name",
    "logicalname",
    "file_logical_name",
    "filelogicalname",
    "logical_file_name",
    "logicalfilename",
];

/// The file that a row is about: its path, or its number or name in its database.
fn file_of(row: &Row<'_>, notes: &mut Notes<'_>) -> Option<Subject> {
    let database = row.text(&DATABASES);
    let server = row.text(&["servername", "server_name", "sqlinstance", "computername"]);
    notes.of_host(server.unwrap_or_default(), &row.line);
    // Where a column is called `file`, it may be either.
    let is_path = |text: &&str| text.contains(['\\', '/']);
    let path = row
        .text(&PATHS)
        .or_else(|| row.text(&LOGICAL).filter(is_path));
    let subject = match path {
        Some(path) => Subject::file(path),
        None => {
            let of = database.or_else(|| row.text(&["database_id", "dbid"]))?;
            let file = row
                .text(&["file_id", "fileid"])
                .or_else(|| row.text(&LOGICAL))?;
            Subject::file(&format!("{of}:{file}"))
        }
    };
    let subject = notes.subject_on(server.unwrap_or_default(), subject);
    let kind = row.text(&["type_desc", "typedesc", "usage", "file_type", "type"]);
    let mut logs = ["log", "log only", "nur protokoll"].into_iter();
    let is_log = kind.is_some_and(|kind| logs.any(|log| kind.eq_ignore_ascii_case(log)));
    let role = is_log.then_some(Role::Log);
    let role = role.or_else(|| role_of(path.unwrap_or_default(), database));
    notes.describe(&subject, database, role);
    Some(subject)
}
