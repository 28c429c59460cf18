/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of complementarity problems: what is written reads back identically; malformed input is
 * refused with its line and nothing else. */
#include "solvers/lcp/io/io.h"
#include "solvers/solvers.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;

static perp_status read_string(const char *text, perp_lcp_problem *p)
{
  return perp_lcp_read_memory(&ctx, "f", text, strlen(text), p);
}

static bool same_array(const void *a, const void *b, size_t bytes)
{
  return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, bytes) == 0);
}

static bool same(const perp_lcp_problem *p, const perp_lcp_problem *q)
{
  size_t n = (size_t)p->p.n, d = sizeof(double);
  if (p->p.n != q->p.n || p->classes != q->classes || strcmp(p->family, q->family) != 0)
    return false;
  if (p->p.F != NULL || q->p.F != NULL) {
    const perp_blocks *F = p->p.F, *G = q->p.F;
    if (F == NULL || G == NULL || F->nb != G->nb || F->nc != G->nc) return false;
    size_t sub = (size_t)F->jptr[F->nc];
    if (!same_array(F->jblk, G->jblk, sub * sizeof(int)) ||
        !same_array(F->tsub, G->tsub, sub * sizeof(int)) ||
        !same_array(F->Minv, G->Minv, (size_t)F->mptr[F->nb] * d) ||
        !same_array(F->J, G->J, (size_t)F->joff[sub] * d) || !same_array(F->s, G->s, n * d))
      return false;
  }
  return same_array(p->p.A, q->p.A, n * n * d) && same_array(p->p.b, q->p.b, n * d) &&
         same_array(p->p.lo, q->p.lo, n * d) && same_array(p->p.hi, q->p.hi, n * d) &&
         same_array(p->p.fric_of, q->p.fric_of, n * sizeof(int)) &&
         same_array(p->p.mu, q->p.mu, n * d) && same_array(p->p.cone, q->p.cone, n) &&
         same_array(p->solution, q->solution, n * d);
}

/* every family, dense and factored, through the text format and through Matrix Market */
static void check_round_trips(void)
{
  int changed = 0, lost = 0, count = 0;
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int factored = 0; factored <= f->factored; factored++) {
      perp_lcp_recipe r = { .family = f->name, .n = perp_lcp_family_rows(f, 12), .seed = 3 };
      r.factored = factored == 1;
      perp_lcp_problem p, q;
      if (perp_lcp_generate(&ctx, &r, &p) != PERP_OK) bail("%s", ctx.msg);
      char *text;
      size_t size;
      FILE *m = open_memstream(&text, &size);
      if (perp_lcp_write(&ctx, &p, m) != PERP_OK) bail("%s", ctx.msg);
      fclose(m);
      count++;
      if (perp_lcp_read_memory(&ctx, f->name, text, size, &q) != PERP_OK) {
        printf("# %s\n", ctx.msg);
        changed++;
      } else {
        if (!same(&p, &q)) {
          printf("# %s: differs\n", f->name);
          changed++;
        }
        perp_lcp_problem_free(&q);
      }
      free(text);
      if (!factored && p.p.fric_of == NULL) {
        m = open_memstream(&text, &size);
        if (perp_lcp_write_mtx(&ctx, &p, m) != PERP_OK) bail("%s", ctx.msg);
        fclose(m);
        size_t n = (size_t)p.p.n;
        if (perp_lcp_read_memory(&ctx, f->name, text, size, &q) != PERP_OK) {
          printf("# %s\n", ctx.msg);
          lost++;
        } else {
          lost += !same_array(p.p.A, q.p.A, n * n * sizeof(double)) ||
                  !same_array(p.p.b, q.p.b, n * sizeof(double)) ||
                  !same_array(p.p.lo, q.p.lo, n * sizeof(double));
          perp_lcp_problem_free(&q);
        }
        free(text);
      }
      perp_lcp_problem_free(&p);
    }
  ok(changed == 0, ".lcp: what is written reads back to the bit (%d problems)", count);
  ok(lost == 0, ".mtx: what is written reads back to the bit");
}

/* Matrices of any number of entries: dense where more than a third of what would be written is not
 * zero, the lower triangle of a symmetric one; and all of it reads back. */
static void check_density(void)
{
  enum { ROWS = 6 };
  int wrong = 0, changed = 0, kinds[3] = { 0 };
  for (int n = 1; n <= ROWS; n++)
    for (int symmetric = 0; symmetric < 2; symmetric++)
      for (int count = 0; count <= (symmetric ? n * (n + 1) / 2 : n * n); count++) {
        double A[ROWS * ROWS] = { 0 }, b[ROWS] = { 0 };
        int entries = 0, left = count, even = 1;
        /* the last rows and columns first, so that a symmetric one has off-diagonal entries */
        for (int i = n - 1; i >= 0; i--)
          for (int j = 0; j < (symmetric ? i + 1 : n) && left > 0; j++, left--)
            A[i + j * n] = A[symmetric ? j + i * n : i + j * n] = 1 + i + 10 * j;
        for (int i = 0; i < n; i++)
          for (int j = 0; j < n; j++) {
            entries += A[i + j * n] != 0;
            even = even && A[i + j * n] == A[j + i * n];
          }
        const perp_lcp_problem p = { .p = { .n = n, .A = A, .lda = n, .b = b } };
        const char *want = even ? "A symmetric " : "A coordinate ";
        if (even) entries = count;
        const int kind = entries * 3.0 / (n * n) > 1 ? 0 : 1 + even;
        kinds[kind]++;
        if (kind == 0) want = "A dense\n";
        char *text;
        size_t size;
        FILE *m = open_memstream(&text, &size);
        if (perp_lcp_write(&ctx, &p, m) != PERP_OK) bail("%s", ctx.msg);
        fclose(m);
        wrong += strstr(text, want) == NULL;
        perp_lcp_problem q;
        if (perp_lcp_read_memory(&ctx, "f", text, size, &q) != PERP_OK) bail("%s", ctx.msg);
        changed += !same(&p, &q);
        perp_lcp_problem_free(&q);
        free(text);
      }
  ok(wrong == 0 && kinds[0] > 50 && kinds[1] > 10 && kinds[2] > 10,
     "dense above a third of the entries (%d, %d, %d; not: %d)", kinds[0], kinds[1], kinds[2],
     wrong);
  ok(changed == 0, "and every entry reads back");
}

/* text, what the message must say */
static void check_refusals(void)
{
#define LCP2  "perp-lcp 1\nn 2\nA dense\n2 1\n1 2\nb\n-1\n-1\n"
#define JSON2 "{\"A\": [[2, 1], [1, 2]], \"b\": [-1, -1],\n"
  static const struct {
    const char *text, *message;
  } cases[] = {
    { "", "f:1: the file is empty" },
    { "hello\n", "f:1: not a problem file" },
    { "7 7 7 7 7 7", "f:1: not a problem file" },
    { "perp-lcp 2\n", "f:1: the version of the format must be in [1, 1], got 2" },
    { "perp-lcp 1\nn -3\n", "f:2: n must be in [0, 2147483647], got -3" },
    { "perp-lcp 1\nn 2.5\n", "f:2: n must be an integer, got '2.5'" },
    { "perp-lcp 1\nn 2000000000\nA dense\n1\n", "f:4: the file ends too early" },
    { "perp-lcp 1\nn 99999999999999\n", "f:2: n must be in" },
    { "perp-lcp 1\nb\n1\n", "f:2: section b must follow section n" },
    { "perp-lcp 1\nn 2\nA dense\n2 1\n1 nan\nb\n-1\n-1\n", "f:5: an entry of A is NaN" },
    { "perp-lcp 1\nn 2\nA dense\n2 1\n1 inf\nb\n-1\n-1\n", "f:5: an entry of A must be finite" },
    { "perp-lcp 1\nn 2\nA dense\n2 1\n1 1e999\nb\n-1\n-1\n", "f:5: an entry of A must be finite" },
    { "perp-lcp 1\nn 2\nA dense\n2 1\n1 2x\nb\n-1\n-1\n", "f:5: an entry of A must be a number" },
    { "perp-lcp 1\nn 2\nA dense\n2 1\n1 2\nb\n-1\n", "f:7: end of file where b is expected" },
    { "perp-lcp 1\nn 1\nA coordinate 2\n0 0 1\n0 0 2\nb\n-1\n", "f:5: A[0, 0] is specified twice" },
    { "perp-lcp 1\nn 1\nA coordinate 1\n0 1 1\nb\n-1\n", "f:4: a column index must be in [0, 0]" },
    { "perp-lcp 1\nn 1\nA sparse\nb\n-1\n", "f:3: A must be dense, coordinate or symmetric" },
    { LCP2 "b\n1\n1\n", "f:9: b is specified twice" },
    { LCP2, "f:9: the file ends without 'end'" },
    { LCP2 "lo\n0\n3\nhi\n1\n2\nend\n", "f:14: row 1: lo = 3, hi = 2" },
    { LCP2 "hi\n-1\n2\nlo\n-2\n3\nend\n", "f:14: row 1: lo = 3, hi = 2" },
    { LCP2 "hi\n1\n-2\nend\n", "f:11: row 1: lo = 0, hi = -2" },
    { LCP2 "lo\n-inf\ninf\nend\n", "f:11: row 1: lo = inf, hi = inf" },
    { LCP2 "lo\n0\nnan\n", "f:11: lo is NaN" },
    { LCP2 "friction 2\n0 1 0.5\n1 0 0.5\n", "f:11: row 1 takes its bounds from friction row 0" },
    { "perp-lcp 1\nn 3\nA coordinate 0\nb\n0 0 0\nfriction 2\n0 1 1\n1 2 1\nend\n",
      "f:8: friction row 1 is the normal row of another one" },
    { LCP2 "friction 1\n0 0 0.5\n", "f:10: row 0 takes its bounds from itself" },
    { LCP2 "friction 1\n0 1 -0.5\n", "f:10: mu must be >= 0, got -0.5" },
    { LCP2 "friction 1\n0 2 0.5\n", "f:10: a normal row must be in [0, 1], got 2" },
    { LCP2 "cone 1\n0\nend\n", "section cone needs section friction" },
    { LCP2 "colour 1\n", "f:9: unknown section 'colour'" },
    { "perp-lcp 1\nn 1\nA dense\n1\n", "section b is missing" },
    { "perp-lcp 1\nn 1\nb\n1\n", "section A is missing" },
    { "perp-lcp 1\nn 1 A dense\n1\nb\n1\n", "f:2: section A must begin a new line" },
    { "perp-lcp 1\nn 1\nfactored 1 1\n1\n-1\n1 1\n0\n1\nb\n1\n", "is not positive definite" },
    { "perp-lcp 1\nn 1\nfactored 1 1\n1\n1\n1 1\n1\n1\nb\n1\n", "f:7: a block index must be in" },
    { "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", "no right-hand side" },
    { "%%MatrixMarket matrix coordinate complex general\n2 2 1\n", "f:1: Matrix Market field" },
    { "%%MatrixMarket matrix array real general\n2 3\n1 2 3\n4 5\n", "end of file" },
    { "%%MatrixMarket matrix coordinate real general\n1 4 3\n1 3 2\n1 4 1\n1 1 1\n",
      "f:4: row 1: lo = 2, hi = 1" },
    { "%%MatrixMarket matrix coordinate real general\n1 2 1\n2 1 1\n", "f:3: a row index must be" },
    { "2\n0\n2\n2\n2 2\n1 0\n0 nan\n-1 -1\n", "f:7: an entry of the matrix is NaN" },
    { "2\n0\n2\n2\n2 2\n1 0\n0 1\n-1\n", "f:8: end of file where q is expected" },
    { "2\n0\n2\n2\n2 2\n1 0\n0 1\n-1 -1\n1 1\n0 0\n", "f:10: row 0: lb = 1, ub = 0" },
    { "5\n1\n0\n5\n5\n", "rolling friction" },
    { "3\n1\n0\n3\n3\n3 3\n1 0 0\n0 1 0\n0 0 1\n-1 0 0\n-0.5\n", "f:11: mu must be >= 0" },
    { "2\n1\n0\n1\n1\n1 1\n0\n0\n1\n2\n1 2\n1 1\n0\n0 0\n0.5\n", "M is singular" },
    { "2\n1\n1\n2 2\n1 1 1\n2\n2\n2 1\n0 0\n0\n0\n1 0\n0 1\n-1 0\n0.5\n",
      "f:9: the block row pointers do not span all blocks" },
    { "perp-lcp 1\nn 1\nA "
      "dense\n0.00000000000000000000000000000000000000000000000000000000000000000000"
      "00000000000000000000000000000000000000000000000000000000000000000000000000000000001e150\n",
      "f:4: an entry of A must be a number, got" },
    { "1\n2\n1\n1\n1\nCSparse Version 3\ntriplet: 1-by-1, nzmax: 2 nnz: 2\n"
      "0 0 : 1e308\n0 0 : 1e308\n1\n",
      "f:10: an entry of A or b overflows" },
    { "{", "f:1: end of file where the name of a member is expected" },
    { "{\"n\": 1,\n\"A\": [[1]],\n\"b\": [-1\n", "f:3: end of file where ',' or ']' is expected" },
    { "{\"A\": [[1]],\n\"b\": [-1]}\n{}", "f:3: the end of the file is expected, got '{'" },
    { "{\"A\": [[1]],\n\"b\": [NaN]}", "f:2: b is expected, got 'NaN'" },
    { "{\"A\": [[Infinity]],\n\"b\": [1]}", "f:1: A is expected, got 'Infinity'" },
    { "{\"A\": [[1e999]],\n\"b\": [1]}", "f:1: A must be finite, got 1e999" },
    { "{\"A\": [[\"inf\"]],\n\"b\": [1]}", "f:1: row 0 of A is expected, got '\"'" },
    { "{\"A\": [[01]],\n\"b\": [1]}", "f:1: A is expected, got '01'" },
    { "{\"A\": [[+1]],\n\"b\": [1]}", "f:1: A is expected, got '+1'" },
    { "{\"A\": [[1.]],\n\"b\": [1]}", "f:1: A is expected, got '1.'" },
    { "{\"A\": [[1]],\n\"b\": [1],}", "f:2: the name of a member is expected, got '}'" },
    { "{\"A\": [[1]],\n\"b\": [1],\n\"b\": [1]}", "f:3: b is specified twice" },
    { "{\"A\": [[1]],\n\"c\": [1]}", "f:2: unknown member 'c'" },
    { "{\"n\": -1, \"A\": [], \"b\": []}", "f:1: n must be in [0, 2147483647], got -1" },
    { "{\"n\": 1.5, \"A\": [], \"b\": []}", "f:1: n must be an integer, got 1.5" },
    { "{\"n\": 1e300, \"A\": [], \"b\": []}", "f:1: n must be an integer" },
    { "{\"n\": 2000000000,\n\"A\": [], \"b\": []}", "f:2: b has 0 entries but n = 2000000000" },
    { "{\"A\": [[1]]\n}", "f:2: member b is missing" },
    { "{\"b\": [1]\n}", "f:2: member A is missing" },
    { "{\"A\": 3, \"b\": [1]}", "f:1: '[' is expected, got '3'" },
    { "{\"A\": [3], \"b\": [1]}", "f:1: '[' is expected, got '3'" },
    { "{\"A\": [[1, 2],\n[3]],\n\"b\": [1, 2]}", "f:2: row 1 of A has 1 entries, not 2" },
    { "{\"A\": [[1, 2]\n],\n\"b\": [1, 2]}", "f:2: A has 1 rows but n = 2" },
    { "{\"A\": [[1, 2],\n[3],[4]],\n\"b\": [1, 2]}", "f:2: row 1 of A has 1 entries, not 2" },
    { "{\"A\": [[1]], \"b\": [1],\n\"lo\": [2],\n\"hi\": [\n1]}", "f:4: row 0: lo = 2, hi = 1" },
    { "{\"A\": [[1]], \"b\": [1],\n\"lo\": [\"nan\"]}", "f:2: lo must be a number, \"inf\"" },
    { "{\"A\": [[1]], \"b\": [1],\n\"lo\": [1, 2]}", "f:2: lo has 2 entries but n = 1" },
    { JSON2 "\"friction_of\": [-1,\n1], \"mu\": [0, 1]}",
      "f:3: row 1 takes its bounds from itself" },
    { JSON2 "\"friction_of\": [1,\n0], \"mu\": [0, 1]}",
      "f:2: row 0 takes its bounds from friction row 1" },
    { JSON2 "\"friction_of\": [-1, 2]}", "f:2: friction_of must be in [-1, 1], got 2" },
    { JSON2 "\"friction_of\": [-1, 0.5]}", "f:2: friction_of must be an integer, got 0.5" },
    { JSON2 "\"friction_of\": [-1, 0], \"mu\":\n[0, -1]}", "f:3: mu must be >= 0, got -1" },
    { JSON2 "\"friction_of\": [-1, 0], \"cone\": [0, 2]}", "f:2: cone must be in [0, 1], got 2" },
    { JSON2 "\"friction_of\": [-1, 0], \"cone\": [0, 1]}", "f:2: " },
    { JSON2 "\"frozen\": 1}", "f:2: true or false is expected, got '1'" },
    { JSON2 "\"family\": \"a\n\"}", "f:2: a string ends within its line" },
    { JSON2 "\"family\": \"\\x\"}", "f:2: an invalid escape in a string" },
    { "0 0 1 1 0\n1 2\n0 1\n0 2 2 2 2\n3 x\n", "f:5: " },
    /* as a problem of local contacts this ends at a mu of -1 in line 5 */
    { "2 2\n0 4 4 4 4\n1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\n0 4 4 4 4\n"
      "-1 0 0 0 0 -1 0 0 0 0 -1 0 0 0 0 -1\n0 0 0 0\n0 0 0 0\n0.5 x\n",
      "f:8: mu must be a number" },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    perp_lcp_problem p;
    ctx.msg[0] = '\0';
    perp_status status = read_string(cases[k].text, &p);
    if (!ok(status == PERP_ERR_FORMAT && strstr(ctx.msg, cases[k].message) != NULL &&
                strchr(ctx.msg, '\n') == NULL && p.p.n == 0,
            "refused: %s", cases[k].message))
      printf("# status %s: %s\n", perp_status_name(status), ctx.msg);
  }
  perp_lcp_problem p;
  ok(perp_lcp_read(&ctx, "/no/such/file", &p) == PERP_ERR_IO &&
         strstr(ctx.msg, "/no/such/file: No such file") != NULL,
     "a missing file is named");
}

/* no prefix of a file passes for the whole */
static void check_truncation(void)
{
  static const char *const names[] = { "boxed", "stack-cone", "stack-box" };
  int accepted = 0, count = 0;
  for (int k = 0; k < 3; k++) {
    perp_lcp_problem p, q;
    perp_lcp_recipe r = { .family = names[k], .n = 12, .seed = 1, .factored = k == 2 };
    if (perp_lcp_generate(&ctx, &r, &p) != PERP_OK) bail("%s", ctx.msg);
    char *text;
    size_t size;
    FILE *m = open_memstream(&text, &size);
    perp_lcp_write(&ctx, &p, m);
    fclose(m);
    for (size_t cut = 0; cut + 4 < size; cut++, count++)
      if (perp_lcp_read_memory(&ctx, "f", text, cut, &q) == PERP_OK) {
        accepted++;
        perp_lcp_problem_free(&q);
      }
    free(text);
    perp_lcp_problem_free(&p);
  }
  ok(accepted == 0, "%d truncated files are refused", count);
}

/* a text row of a Siconos matrix is a column; small files of each kind, written for this test */
static void check_siconos(void)
{
  perp_lcp_problem p;
  double A[] = { 1, 2, 3, 4 };
  ok(read_string("2\n0\n2\n2\n2\t2\n1 2\n3 4\n-1 -5\n\nany text\n", &p) == PERP_OK &&
         memcmp(p.p.A, A, sizeof A) == 0 && p.p.b[1] == -5 && p.p.lo == NULL,
     "LCP: dense, column by column, comments after q");
  perp_lcp_problem_free(&p);
  ok(read_string("3\n1\n3\n3\n3\n2\n2\n1 3\n1 3\n3\n3\n0 1 3\n0 0 1\n0\n5\n1\n6\n7\n2\n1\n2\n3\n4\n"
                 "-1 -2 -3\n",
                 &p) == PERP_OK &&
         p.p.A[0] == 5 && p.p.A[1] == 6 && p.p.A[2] == 7 && p.p.A[4] == 1 && p.p.A[5] == 2 &&
         p.p.A[7] == 3 && p.p.A[3] == 0 && p.p.b[2] == -3,
     "LCP: block storage");
  perp_lcp_problem_free(&p);
  ok(read_string("2\n2\n2\n2\n1\nCSparse Version 3.1\ntriplet: 2-by-2, nzmax: 4 nnz: 3\n"
                 "  0 0 : 2\n  1 0 : 1\n  1 1 : 3\n-1 -1\n",
                 &p) == PERP_OK &&
         p.p.A[0] == 2 && p.p.A[1] == 1 && p.p.A[2] == 0 && p.p.A[3] == 3,
     "LCP: triplets");
  perp_lcp_problem_free(&p);
  ok(read_string("2\n2\n2\n2\n2\nCSparse Version 3.1\n2-by-2, nzmax: 4 nnz: 3, 1-norm: 3\n"
                 "  col 0 : locations 0 to 1\n   0 : 2\n   1 : 1\n"
                 "  col 1 : locations 2 to 2\n   1 : 3\n-1 -1\n",
                 &p) == PERP_OK &&
         p.p.A[0] == 2 && p.p.A[1] == 1 && p.p.A[2] == 0 && p.p.A[3] == 3,
     "LCP: compressed columns");
  perp_lcp_problem_free(&p);
  ok(read_string("1\n0\n1\n1\n1 1\n2\n-1\n-3\n4\n", &p) == PERP_OK && p.p.lo[0] == -3 &&
         p.p.hi[0] == 4,
     "relay: bounds after q");
  perp_lcp_problem_free(&p);
  ok(read_string("1\n1\n1\n1\n0 1 2\n0 1\n0\n2\n2\n2 2\n1 2\n3 4\n5 6\n", &p) == PERP_OK &&
         p.p.lo[0] == -HUGE_VAL && p.p.lo[1] == 0 && p.p.A[1] == 2 && p.p.b[1] == 6,
     "MLCP: equalities are free rows");
  perp_lcp_problem_free(&p);
  ok(read_string("3\n1\n0\n3\n3\n3 3\n1 0 0\n0 1 0\n0 0 1\n-1 0 0\n0.5\n1\n", &p) == PERP_OK &&
         p.p.fric_of[1] == 0 && p.p.fric_of[2] == 0 && p.p.cone[1] == 1 && p.p.mu[2] == 0.5 &&
         strcmp(p.family, "siconos-fc3d") == 0,
     "FC3D: a cone of rows 1 and 2");
  perp_lcp_problem_free(&p);
  ok(read_string("2\n1\n0\n2\n2\n2 2\n1 0\n0 1\n-1 0\n0.5\n", &p) == PERP_OK &&
         p.p.fric_of[1] == 0 && p.p.cone == NULL,
     "FC2D: a box is the cone");
  perp_lcp_problem_free(&p);
  /* M = diag(2, 4), H = I, f = (2, 4), b = (1, 1): W = diag(1/2, 1/4), q = (2, 2) */
  ok(read_string("2\n1\n0\n2\n2\n2 2\n2 0\n0 4\n0\n2\n2\n2 2\n1 0\n0 1\n2 4\n1 1\n0.5\n", &p) ==
             PERP_OK &&
         p.p.A[0] == 0.5 && p.p.A[3] == 0.25 && p.p.b[0] == 2 && p.p.b[1] == 2 &&
         strcmp(p.family, "siconos-global-fc2d") == 0,
     "global FC2D: condensed");
  perp_lcp_problem_free(&p);
}

static void check_json(void)
{
  perp_lcp_problem p;
  ok(read_string("\n{ \"hi\": [1e0, \"inf\"], \"b\": [-1, 5E-1], \"family\": \"t\\u0061\\/\",\n"
                 "\"A\": [[2, 1],\n [0, 3.5]], \"solution\": null, \"lo\": [\"-inf\", 0] }\n",
                 &p) == PERP_OK &&
         p.p.n == 2 && p.p.A[0] == 2 && p.p.A[1] == 0 && p.p.A[2] == 1 && p.p.A[3] == 3.5 &&
         p.p.b[1] == 0.5 && p.p.lo[0] == -HUGE_VAL && p.p.hi[0] == 1 && p.p.hi[1] == HUGE_VAL &&
         p.solution == NULL && p.p.fric_of == NULL && strcmp(p.family, "ta/") == 0,
     "JSON: members in any order, rows of A, infinite bounds");
  perp_lcp_problem_free(&p);
  ok(read_string("{\"n\":3,\"A\":[[1,0,0],[0,1,0],[0,0,1]],\"b\":[-1,2,3],\"lo\":[0,0,0],"
                 "\"hi\":[\"inf\",\"inf\",\"inf\"],\"friction_of\":[-1,0,0],\"mu\":[0,0.5,0.5],"
                 "\"cone\":[0,1,0],\"solution\":[1,0,0]}",
                 &p) == PERP_OK &&
         p.p.lo == NULL && p.p.fric_of[2] == 0 && p.p.mu[1] == 0.5 && p.p.cone[1] == 1 &&
         p.solution[0] == 1,
     "JSON: a cone, a solution; bounds that say nothing are dropped");
  perp_lcp_problem_free(&p);
  ok(read_string("{\"n\":0,\"A\":[],\"b\":[]}", &p) == PERP_OK && p.p.n == 0,
     "JSON: no rows at all");
  perp_lcp_problem_free(&p);
}

static void check_market(void)
{
  perp_lcp_problem p;
  ok(read_string("%%MatrixMarket matrix array real general\n% c\n2 3\n1\n2\n3\n4\n-1\n-2\n", &p) ==
             PERP_OK &&
         p.p.A[1] == 2 && p.p.b[1] == -2,
     "array [A b], column by column");
  perp_lcp_problem_free(&p);
  ok(read_string(
         "%%MatrixMarket matrix coordinate real general\n1 4 4\n1 1 2\n1 2 -1\n1 3 -inf\n1 4 "
         "inf\n",
         &p) == PERP_OK &&
         p.p.lo[0] == -HUGE_VAL && p.p.hi[0] == HUGE_VAL,
     "[A b lo hi] with infinite bounds");
  perp_lcp_problem_free(&p);
  char dir[] = "/tmp/perp-lcp-io-XXXXXX", a[64], b[64];
  if (mkdtemp(dir) == NULL) bail("mkdtemp");
  snprintf(a, sizeof a, "%s/x.mtx", dir);
  snprintf(b, sizeof b, "%s/x_b.mtx", dir);
  FILE *f = fopen(a, "w");
  fputs("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 1\n2 2 2\n", f);
  fclose(f);
  ok(perp_lcp_read(&ctx, a, &p) == PERP_ERR_FORMAT && strstr(ctx.msg, "x_b.mtx is missing") != NULL,
     "A alone: the missing file is named");
  f = fopen(b, "w");
  fputs("%%MatrixMarket matrix array real general\n2 1\n-1\n-2\n", f);
  fclose(f);
  ok(perp_lcp_read(&ctx, a, &p) == PERP_OK && p.p.A[2] == 1 && p.p.b[1] == -2,
     "A and b in two files, symmetric");
  perp_lcp_problem_free(&p);
  f = fopen(a, "w");
  fputs("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n", f);
  fclose(f);
  ok(perp_lcp_read(&ctx, a, &p) == PERP_OK && p.p.A[1] == 3 && p.p.A[2] == -3 && p.p.A[0] == 0,
     "skew-symmetric");
  perp_lcp_problem_free(&p);
  unlink(a);
  unlink(b);
  rmdir(dir);
}

/* contacts with cones through an fclib file */
static void check_fclib(void)
{
  perp_lcp_problem p, q;
  perp_lcp_recipe r = { .family = "stack-cone", .n = 24 };
  if (perp_lcp_generate(&ctx, &r, &p) != PERP_OK) bail("%s", ctx.msg);
  char name[] = "/tmp/perp-lcp-XXXXXX.hdf5";
  int fd = mkstemps(name, 5);
  if (fd < 0) bail("mkstemps");
  close(fd);
  perp_status status = perp_lcp_write_fclib(&ctx, &p, name);
  if (status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "without HDF5") != NULL)
    skip("built without HDF5", "fclib files");
  else {
    ok(status == PERP_OK && perp_lcp_read(&ctx, name, &q) == PERP_OK &&
           memcmp(p.p.A, q.p.A, sizeof(double) * 24 * 24) == 0 &&
           memcmp(p.p.b, q.p.b, sizeof(double) * 24) == 0 && memcmp(p.p.cone, q.p.cone, 24) == 0,
       "fclib: what is written reads back to the bit");
    perp_lcp_problem_free(&q);
    ok(truncate(name, 2000) == 0 && perp_lcp_read(&ctx, name, &q) == PERP_ERR_FORMAT &&
           strstr(ctx.msg, "damaged") != NULL,
       "fclib: a truncated file is refused");
    perp_lcp_problem_free(&p);
    p = (perp_lcp_problem){ 0 };
    r.family = "spd";
    if (perp_lcp_generate(&ctx, &r, &p) != PERP_OK) bail("%s", ctx.msg);
    ok(perp_lcp_write_fclib(&ctx, &p, name) == PERP_ERR_UNSUPPORTED,
       "fclib: a problem without contacts is refused");
  }
  unlink(name);
  perp_lcp_problem_free(&p);
}

static void check_vectors(void)
{
  double x[2];
  static const char plain[] = "# solved\n1\n2.5\n", json[] = "{\"n\": 2, \"lambda\": [1, 2.5]}";
  ok(perp_lcp_read_vector_memory(&ctx, "v", plain, sizeof plain - 1, 2, x) == PERP_OK &&
         x[1] == 2.5,
     "a vector of numbers");
  x[1] = 0;
  ok(perp_lcp_read_vector_memory(&ctx, "v", json, sizeof json - 1, 2, x) == PERP_OK && x[1] == 2.5,
     "the lambda array of a JSON object");
  ok(perp_lcp_read_vector_memory(&ctx, "v", plain, sizeof plain - 1, 3, x) == PERP_ERR_FORMAT,
     "too few numbers");
  ok(perp_lcp_read_vector_memory(&ctx, "v", plain, sizeof plain - 1, 1, x) == PERP_ERR_FORMAT,
     "too many numbers");
}

/* Factored problems of blocks that are no diagonals: the file has M^-1, the reader finds M. */
static void check_masses(void)
{
  perp_rng *g = perp_rng_create(8);
  int read = 0, same = 0;
  double worst = 0;
  for (int trial = 0; trial < 20; trial++) {
    random_lcp r = random_factored(g, 1 + trial % 4, 2 + trial % 5, trial % 3, 0, 0.3);
    const perp_lcp *from = random_as_factored(&r);
    perp_lcp_problem p, q;
    if (perp_lcp_copy(&ctx, from, &p) != PERP_OK) bail("%s", ctx.msg);
    char *text;
    size_t size;
    FILE *m = open_memstream(&text, &size);
    if (perp_lcp_write(&ctx, &p, m) != PERP_OK) bail("%s", ctx.msg);
    fclose(m);
    if (perp_lcp_read_memory(&ctx, "f", text, size, &q) == PERP_OK && q.p.F != NULL) {
      const perp_blocks *F = from->F, *G = q.p.F;
      const int numbers = F->mptr[F->nb];
      read++;
      same += G->mptr[G->nb] == numbers &&
              memcmp(F->Minv, G->Minv, (size_t)numbers * sizeof(double)) == 0;
      for (int i = 0; i < numbers; i++) worst = fmax(worst, fabs(F->M[i] - G->M[i]));
      perp_lcp_problem_free(&q);
    }
    free(text);
    perp_lcp_problem_free(&p);
    random_free(&r);
  }
  perp_rng_destroy(g);
  ok(read == 20 && same == 20, "M^-1 of 20 random problems comes back to the bit (%d, %d)", read,
     same);
  below(worst, 1e-12, "and M is its inverse");
}

int main(void)
{
  perp_ctx_init(&ctx);
  check_round_trips();
  check_masses();
  check_refusals();
  check_truncation();
  check_density();
  check_siconos();
  check_json();
  check_market();
  check_fclib();
  check_vectors();
  return tap_done();
}
