/* Numbers as the shortest decimal that reads back the same. */
#ifndef CT_BASE_SHORTEST_H
#define CT_BASE_SHORTEST_H

enum { CT_SHORTEST_BYTES = 32 };

/* The decimal of fewest digits that reads back as v, as JSON has it: "0.985", "100.0", "1e-5", "1.5e300". v must be
 * finite. The point is a '.', whatever the locale. Returns buf. */
char *ct_shortest(double v, char buf[CT_SHORTEST_BYTES]);
/* The double whose shortest decimal is that of fewest digits that reads back as the float v; v itself where v is not
 * finite. What is stored as a float is told by it: 0.1f as 0.1, not as 0.10000000149011612. */
double ct_shortest_float(float v);

#endif
