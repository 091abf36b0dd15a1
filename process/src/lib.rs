//! What every Reeve binary does alike.
