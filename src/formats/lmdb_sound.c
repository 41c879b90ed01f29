/* The pages of an LMDB file, version 1 of its format, of a 64-bit little-endian machine:
 *
 *   page     16 bytes: own number u64, u16 unused, flags u16, lower u16, upper u16 (first of several: how many, u32);
 *            then places of nodes, u16 each, up to `lower`; nodes stand between `upper` and the end
 *   meta     pages 0 and 1, behind the 16 bytes: magic u32, version u32, address u64, map size u64, two trees of
 *            48 bytes (free pages, data), last page u64, transaction u64; the greater transaction is valid
 *   tree     size of pages u32 (of the first tree), flags u16, depth u16, branch, leaf and further pages u64 each,
 *            entries u64, root u64 (all bits set: there is none)
 *   node     low u16, high u16, flags u16, size of the key u16, key. In a branch the three numbers are a page; in a
 *            leaf the first two are the size of the value, which follows, or with flag 1 the number u64 of its first
 *            page */
#include "config.h"

#include "formats/lmdb.h"

#include <inttypes.h>
#include <string.h>

enum { HEAD = 16, NODE = 8, BRANCH = 1, LEAF = 2, META = 8, BIG = 1, DEPTH = 30, DB = 48 };

typedef struct tree {
    const uint8_t *file;
    const char *path;
    size_t page;            /* bytes of a page */
    uint64_t pages, seen;   /* of the file; looked at */
    int depth;              /* of the tree */
} tree;

static uint16_t u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t u32(const uint8_t *p) { return u16(p) | (uint32_t)u16(p + 2) << 16; }
static uint64_t u64(const uint8_t *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }

static ct_status damaged(const tree *t, uint64_t page, const char *what)
{
    return ct_fail(CT_EFORMAT, "%s: the database is damaged: page %" PRIu64 " %s", t->path, page, what);
}

/* A value in pages of its own. */
static ct_status check_big(const tree *t, uint64_t own, const uint8_t *at, uint64_t size)
{
    const uint64_t first = u64(at), need = (HEAD + size + t->page - 1) / t->page;
    if (first < 2 || first >= t->pages || need > t->pages - first)
        return damaged(t, own, "has a value that does not lie in the file");
    return CT_OK;
}

static ct_status check_leaf_node(const tree *t, uint64_t own, const uint8_t *node, size_t room)
{
    const uint64_t size = u32(node), key = u16(node + 6);
    const uint16_t flags = u16(node + 4);
    if (flags & ~BIG) return ct_fail(CT_EUNSUPPORTED, "%s: databases within a database are not read", t->path);
    const uint64_t need = NODE + key + (flags & BIG ? 8 : size);
    if (need > room) return damaged(t, own, "has an entry that ends outside of it");
    return flags & BIG ? check_big(t, own, node + NODE + key, size) : CT_OK;
}

static ct_status check_page(tree *t, uint64_t own, int depth)
{
    if (own < 2 || own >= t->pages) return damaged(t, own, "is not in the file");
    if (++t->seen > t->pages) return damaged(t, own, "is reached in more than one way");
    const uint8_t *p = t->file + own * t->page;
    const size_t lower = u16(p + 12), nodes = lower >= HEAD ? (lower - HEAD) / 2 : 0;
    const bool branch = depth < t->depth;
    if (u16(p + 10) != (branch ? BRANCH : LEAF)) return damaged(t, own, "is of another kind than its place asks for");
    if (lower > t->page || nodes < (branch ? 2 : 1)) return damaged(t, own, "has too few entries, or too many");
    for (size_t i = 0; i < nodes; i++) {
        const size_t at = u16(p + HEAD + 2 * i);
        if (at < lower || at + NODE > t->page || at % 2 != 0) return damaged(t, own, "has an entry outside of it");
        const uint8_t *node = p + at;
        if (!branch) {
            CT_TRY(check_leaf_node(t, own, node, t->page - at));
            continue;
        }
        if (NODE + (size_t)u16(node + 6) > t->page - at) return damaged(t, own, "has a key that ends outside of it");
        CT_TRY(check_page(t, u32(node) | (uint64_t)u16(node + 4) << 32, depth + 1));
    }
    return CT_OK;
}

/* The meta page at `at` into t->page; its transaction. */
static ct_status read_meta(tree *t, size_t size, size_t at, uint64_t *transaction)
{
    if (at + HEAD + 136 > size) return ct_fail(CT_EFORMAT, "%s: is too short for an LMDB database", t->path);
    const uint8_t *m = t->file + at + HEAD;
    if (!(u16(m - 6) & META) || u32(m) != 0xBEEFC0DE)
        return ct_fail(CT_EFORMAT, "%s: is no LMDB database of this machine's kind", t->path);
    if (u32(m + 4) != 1)
        return ct_fail(CT_EUNSUPPORTED, "%s: LMDB format %" PRIu32 "; format 1 is read", t->path, u32(m + 4));
    const uint32_t page = u32(m + 24);
    if (page < 512 || page > 32768 || (page & (page - 1)) != 0 || (t->page && t->page != page))
        return ct_fail(CT_EFORMAT, "%s: the database is damaged: pages of %" PRIu32 " bytes", t->path, page);
    t->page = page;
    *transaction = u64(m + 128);
    return CT_OK;
}

ct_status ct_lmdb_sound(const uint8_t *file, size_t size, const char *path)
{
    tree t = { .file = file, .path = path };
    uint64_t transaction[2] = { 0, 0 };
    CT_TRY(read_meta(&t, size, 0, &transaction[0]));
    CT_TRY(read_meta(&t, size, t.page, &transaction[1]));
    const uint64_t newer = transaction[1] > transaction[0] ? 1 : 0;
    const uint8_t *m = file + HEAD + newer * t.page, *data = m + 24 + DB;
    const uint64_t last = u64(m + 120), root = u64(data + 40);
    if (last < 1 || last >= size / t.page)
        return ct_fail(CT_EFORMAT, "%s: the database is damaged: it has %" PRIu64 " pages of %zu bytes, the file has "
                       "%zu bytes", path, last, t.page, size);
    /* both are read when the database is opened, whichever is newer */
    if (u64(file + HEAD + (1 - newer) * t.page + 120) >= size / t.page)
        return damaged(&t, 1 - newer, "names a last page that is not in the file");
    t.pages = last + 1;
    t.depth = u16(data + 6);
    if (u16(data + 4) != 0)
        return ct_fail(CT_EUNSUPPORTED, "%s: a database whose keys are sorted in a way of its own is not read", path);
    if (root == UINT64_MAX) return CT_OK;
    if (t.depth < 1 || t.depth > DEPTH) return damaged(&t, root, "is the root of a tree that is too deep");
    return check_page(&t, root, 1);
}
