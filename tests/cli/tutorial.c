/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of docs/tutorials/first-study.md, run as they stand there, in one shell. */
#include "tests/cli/program.h"

int main(void)
{
  program_open();
  char *path = perp_xprintf("%s/docs/tutorials/first-study.md", getenv("PERP_HOME"));
  char *text = perp_read_file(path, NULL);
  free(path);
  if (text == NULL) bail("no docs/tutorials/first-study.md");
  perp_text script = { 0 };
  perp_text_add(&script,
                "set -eu\nmkdir bin\nln -s '%s' bin/perp\nexport PATH=\"$PWD/bin:$PATH\"\n",
                program);
  int blocks = 0;
  for (char *s = text; (s = strstr(s, "```sh\n")) != NULL;) {
    s += 6;
    char *end = strstr(s, "```\n");
    if (end == NULL) bail("a block does not end");
    perp_text_add(&script, "echo '==== block %d' >&2\n", ++blocks);
    perp_text_put(&script, s, (size_t)(end - s));
    s = end;
  }
  perp_text_add(&script, "echo '==== all done' >&2\n");
  write_file("tutorial.sh", script.s);
  int status = system("sh tutorial.sh >tutorial.out 2>tutorial.err");
  char *said = perp_read_file("tutorial.err", NULL);
  if (!ok(status == 0 && strstr(said, "==== all done") != NULL, "all %d blocks of the tutorial run",
          blocks)) {
    size_t n = strlen(said);
    printf("# %s\n", said + (n > 1500 ? n - 1500 : 0));
  }
  ok(blocks >= 8, "%d blocks", blocks);
  ok(file_has("tutorial.out", "proved: the exact solver never fails"), "its claim is proved");
  ok(file_has("tutorial.out", "failed 0, skipped"), "its plug-ins pass the contract tests");
  ok(file_has("results/mine/derived/cells.csv", ",mine,"), "its solver stands in the table");
  ok(perp_exists("results/two/report.html") && perp_exists("two.csv"),
     "its report and its table are there");
  perp_text_free(&script);
  free(said);
  free(text);
  program_close();
  return tap_done();
}
