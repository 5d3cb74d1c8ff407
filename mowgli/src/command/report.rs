//! The `report` command.

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::reporting::{ReportArgs, ReportRequest};

/// Writes the page. Returns the exit code.
pub(super) fn report(args: &ReportArgs, catalogue: Catalogue) -> Result<u8, InputError> {
    ReportRequest { catalogue: &args.on.of(catalogue)?, args, title: "Mowgli", links: "" }.print()
}
