/* A small validator for JSON Schema, draft 2020-12: the keywords that doc/json uses and no others. An unknown keyword,
 * a reference that leads nowhere or a pattern that POSIX does not share with ECMAScript is an error of the schema, so
 * that nothing in one can be without effect. */
#ifndef CT_TESTS_JSON_SCHEMA_H
#define CT_TESTS_JSON_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define SCHEMA_WHY 2000 /* bytes of a message */

typedef struct schema {
    json_t *files;         /* file name -> document: the schema's own and those it refers to */
    char *folder;          /* where they lie; NULL: made from text, refers to no file */
    const char *name;      /* of the schema itself, a key of files */
    char why[SCHEMA_WHY];  /* what is wrong: with the schema, or with the document checked last */
} schema;

/* Reads a schema and all files it refers to, and checks their form. false: why says what is wrong. schema_close() in
 * either case. */
bool schema_open(schema *s, const char *path);
bool schema_parse(schema *s, const char *text);
void schema_close(schema *s);

/* Does the document satisfy the schema? If not, why names the place ("$.receipt[3].math") and the reason. */
bool schema_accepts(schema *s, const json_t *document);

#endif
