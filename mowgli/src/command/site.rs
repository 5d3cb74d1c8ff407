//! The `site` command.

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::site::SiteArgs;

/// Writes the site. Its pages solve tests in the browser.
pub(super) fn site(args: &SiteArgs, catalogue: Catalogue) -> Result<u8, InputError> {
    args.write(catalogue)
}
