/*
 * xml.h - text that XML and HTML can hold, whatever it holds itself.
 */
#ifndef ALLO_BASE_XML_H
#define ALLO_BASE_XML_H

#include "base/output.h"

/*
 * Text for between tags and for attributes in double quotes, on one line.  Bytes that are not
 * UTF-8, and characters that XML has no place for, come out as U+FFFD, control characters as their
 * pictures.
 */
void allo_xml_text(struct allo_output *out, struct allo_text text);

#endif
