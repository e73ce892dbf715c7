"""All links loaded for hours: what they carried, which errors grew, which of them went up and down."""
