/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of Stewart-Trinkle rows: what generators and files say is what the structure of A shows,
 * in any order of the rows; what is no such contact is refused. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/stewart.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

static perp_ctx ctx;

struct found {
  perp_stewart s;
  int ptr[MOST + 1], rows[MOST], home[MOST];
};

static perp_status find(const perp_lcp *p, struct found *f)
{
  if (p->n > MOST) bail("%d rows", p->n);
  f->s = (perp_stewart){ .ptr = f->ptr, .rows = f->rows, .home = f->home };
  return perp_stewart_find(&ctx, p, &f->s);
}

static perp_lcp_problem make(perp_lcp_recipe recipe)
{
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", recipe.family, ctx.msg);
  return q;
}

static double entry(const perp_lcp *p, int i, int j)
{
  return p->A[i + j * p->lda];
}

/* The rows in the order of the header: mu x_n - sum x_t, and e down the column. */
static bool right_rows(const perp_lcp *p, const struct found *f, double mu, int directions)
{
  for (int c = 0; c < f->s.contacts; c++) {
    const int *row = f->rows + f->ptr[c], r = f->ptr[c + 1] - f->ptr[c];
    if (r != directions + 2) return false;
    for (int k = 0; k < r; k++) {
      double across = k == 0 ? mu : k < r - 1 ? -1 : 0, down = k > 0 && k < r - 1;
      if (entry(p, row[r - 1], row[k]) != across || entry(p, row[k], row[r - 1]) != down)
        return false;
      if (k > 1 && k < r - 1 && row[k] < row[k - 1]) return false;
      if (f->home[row[k]] != c) return false;
    }
  }
  return true;
}

/* The same rows together, whatever the contacts are called. */
static bool same_partition(const struct found *a, const struct found *b, int n)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if ((a->home[i] >= 0 && a->home[i] == a->home[j]) !=
          (b->home[i] >= 0 && b->home[i] == b->home[j]))
        return false;
  return a->s.contacts == b->s.contacts;
}

static void said_and_found(void)
{
  bool all = true, order = true;
  for (int k = 0; k < 8; k++) {
    perp_lcp_problem q = make(
        (perp_lcp_recipe){ .family = k % 2 ? "incline-slide" : "stack-friction",
                           .boxes = 1 + k / 2,
                           .seed = (uint64_t)k,
                           .permute = k > 3 });
    struct found said, seen;
    if (q.p.contact_of == NULL) bail("the generator does not say the contacts");
    if (find(&q.p, &said) != PERP_OK) bail("%s", ctx.msg);
    perp_lcp p = q.p;
    p.contact_of = NULL;
    if (find(&p, &seen) != PERP_OK) bail("%s", ctx.msg);
    all = all && said.s.contacts == 4 * (1 + k / 2) && same_partition(&said, &seen, q.p.n) &&
          !said.s.unclear && !seen.s.unclear;
    order = order && right_rows(&p, &said, k % 2 ? 0.2 : 0.5, 4) &&
            right_rows(&p, &seen, k % 2 ? 0.2 : 0.5, 4);
    perp_lcp_problem_free(&q);
  }
  ok(all, "contacts said and contacts found are the same, permuted or not");
  ok(order, "normal, directions in ascending order, slack");
}

static void none_and_unclear(void)
{
  static const struct {
    const char *family;
    int n;
    bool unclear;
  } cases[] = { { "spd", 12, false },       { "stack", 16, false },
                { "stack-box", 12, false }, { "p-matrix", 12, false },
                { "bimatrix", 12, true },   { "pd-nonsymmetric", 12, false },
                { "stack-cone", 12, false } };
  bool all = true;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    perp_lcp_problem q = make((perp_lcp_recipe){ .family = cases[k].family, .n = cases[k].n });
    struct found f;
    if (find(&q.p, &f) != PERP_OK) bail("%s", ctx.msg);
    if (f.s.contacts != 0 || f.s.unclear != cases[k].unclear) {
      tap_note("%s: %d contacts, %s\n", cases[k].family, f.s.contacts,
               f.s.unclear ? "unclear" : "clear");
      all = false;
    }
    perp_lcp_problem_free(&q);
  }
  /* without mu nobody can see the normal; said, it is known */
  double A[16] = { 2, 0, 0, 0, 0, 1, -1, -1, 0, -1, 1, -1, 0, 1, 1, 0 }, b[4] = { -1, 1, -1, 0 };
  int contact_of[4] = { 3, 3, 3, 3 };
  perp_lcp p = { .n = 4, .A = A, .lda = 4, .b = b };
  struct found f;
  all = all && find(&p, &f) == PERP_OK && f.s.unclear;
  p.contact_of = contact_of;
  all = all && find(&p, &f) == PERP_OK && f.s.contacts == 1 && f.rows[0] == 0 && f.rows[3] == 3;
  ok(all, "problems without such contacts have none; what is not known is unclear");
}

static void refused(void)
{
  perp_lcp_problem q = make((perp_lcp_recipe){ .family = "incline-slide", .boxes = 1 });
  perp_lcp_arrays x = perp_lcp_edit(&q);
  struct found f;
  const int slack = q.p.n - 1, was = x.contact_of[slack];
  x.contact_of[slack] = -1;
  bool all = find(&q.p, &f) == PERP_ERR_ARG;
  x.contact_of[slack] = (was + 3) % 4;
  all = all && find(&q.p, &f) == PERP_ERR_ARG;
  x.contact_of[slack] = q.p.n;
  all = all && perp_lcp_check(&ctx, &q.p, NULL) == PERP_ERR_ARG;
  x.contact_of[slack] = was;
  all = all && find(&q.p, &f) == PERP_OK && perp_lcp_check(&ctx, &q.p, NULL) == PERP_OK;
  x.A[0 + slack * q.p.n] = 0.25; /* another contact's normal is moved by the slack */
  all = all && find(&q.p, &f) == PERP_ERR_ARG;
  perp_lcp_problem_free(&q);
  ok(all, "a contact without its slack, with another's, or coupled to others is refused");
}

static void kept_in_files(void)
{
  perp_lcp_problem q = make(
                       (perp_lcp_recipe){ .family = "incline-slide", .boxes = 2, .permute = true }),
                   r;
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL || perp_lcp_write(&ctx, &q, out) != PERP_OK) bail("%s", ctx.msg);
  fclose(out);
  if (perp_lcp_read_memory(&ctx, "memory", text, size, &r) != PERP_OK) bail("%s", ctx.msg);
  ok(r.p.contact_of != NULL &&
         memcmp(r.p.contact_of, q.p.contact_of, (size_t)q.p.n * sizeof(int)) == 0,
     "contacts are read back");
  free(text);
  perp_lcp_problem_free(&r);
  static const char json[] = "{\"n\":4,\"A\":[[2,0,0,0],[0,1,-1,1],[0,-1,1,1],[0.5,-1,-1,0]],"
                             "\"b\":[-1,1,-1,0],\"contact_of\":[0,0,0,0]}";
  struct found f;
  if (perp_lcp_read_memory(&ctx, "json", json, sizeof json - 1, &r) != PERP_OK) bail("%s", ctx.msg);
  ok(find(&r.p, &f) == PERP_OK && f.s.contacts == 1 && f.rows[3] == 3, "and from JSON");
  perp_lcp_problem_free(&r);
  perp_lcp_problem_free(&q);
}

int main(void)
{
  perp_ctx_init(&ctx);
  said_and_found();
  none_and_unclear();
  refused();
  kept_in_files();
  return tap_done();
}
