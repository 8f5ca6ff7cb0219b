/*
 * xml.h - escapes text for XML and HTML.
 */
#ifndef ALLO_BASE_XML_H
#define ALLO_BASE_XML_H

#include "base/io/output.h"

/*
 * Writes text for use between tags or in a quoted attribute, on one line.  Invalid UTF-8 and
 * characters that XML forbids become U+FFFD; control characters become their symbols (U+2400 ...).
 */
void allo_xml_text(struct allo_output *out, struct allo_text text);

#endif
