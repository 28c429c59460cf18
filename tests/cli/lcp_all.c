/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp solve --all and --sensitivity as a user meets them. */
#include "tests/cli/program.h"

/* No line is longer than 80 columns, but for the figures of the judge. */
static bool narrow(void)
{
  for (const char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1)
    if (strcspn(line, "\n") > 80 && strncmp(line, "# rel", 5) != 0 &&
        strncmp(line, "# solved by", 11) != 0)
      return false;
  return true;
}

static void test_all(void)
{
  /* coordination of three: each support is an equilibrium, and 0 */
  write_file("game.json", "{\"n\":3,\"A\":[[-1,0,0],[0,-2,0],[0,0,-4]],\"b\":[1,1,1]}");
  answers(0, "lcp solve game.json --all", "# 8 basic solutions, all of them");
  ok(narrow(), "80 columns");
  answers(0, "lcp solve game.json --all --json", "\"complete\": true");
  write_file("share.json", "{\"n\":2,\"A\":[[1,1],[1,1]],\"b\":[-1,-1]}");
  answers(0, "lcp solve share.json --all", "# set 0 is a segment, with the corners 0 1");
  write_file("idle.json", "{\"n\":2,\"A\":[[0,0],[0,1]],\"b\":[0,-1]}");
  answers(0, "lcp solve idle.json --all", "#   and goes on along 1 0");
  write_file("no.json", "{\"n\":1,\"A\":[[-1]],\"b\":[-1]}");
  answers(10, "lcp solve no.json --all", "# no solution exists");
  refuses(2, "lcp solve game.json --all --lcp lemke", "--lcp has no effect; leave it out");
  write_file("cone.json", "{\"n\":3,\"A\":[[1,0,0],[0,1,0],[0,0,1]],\"b\":[-1,0.2,3],"
                          "\"friction_of\":[-1,0,0],\"mu\":[0,0.5,0.5],\"cone\":[0,1,0]}");
  refuses(2, "lcp solve cone.json --all", "--friction box");
  answers(0, "lcp solve cone.json --all --friction box", "# 1 basic solution");
  answers(0, "lcp solve cone.json --all --friction pyramid:4", "basic solution");
  refuses(2, "lcp solve cone.json --sensitivity", "--friction box");
  answers(0, "lcp solve cone.json --sensitivity --friction box", "the basis is regular");
  ok(narrow(), "80 columns");
  refuses(2, "lcp solve cone.json --sensitivity --friction pyramid:4", "--friction box");
  run("lcp generate stack --n 24 -o many.lcp");
  refuses(2, "lcp solve many.lcp --all", "n <= 20");
  write_file("pd.json", "{\"n\":2,\"A\":[[2,1],[1,2]],\"b\":[-1,-1]}");
  answers(0, "lcp solve pd.json --sensitivity", "-2 (row 1)");
  run("lcp solve pd.json --sensitivity --json");
  json_t *j = json_loads(out, 0, NULL), *s = json_object_get(j, "sensitivity");
  near(json_number_value(json_array_get(json_array_get(json_object_get(s, "dlambda_db"), 0), 1)),
       1 / 3.0, 0, 1e-14, "d lambda_0 / d b_1 = 1/3");
  json_decref(j);
  answers(0, "lcp solve share.json --sensitivity", "the basis is degenerate");
  answers(10, "lcp solve no.json --sensitivity", "# not solved");
}

int main(void)
{
  program_open();
  test_all();
  program_close();
  return tap_done();
}
