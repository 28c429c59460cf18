/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What keeps a received folder data: words for shells, files that follow no link, temporary
 * folders, texts in scripts of gnuplot, the hash of a page's policy. */
#include "experiments/pages/gnuplot.h"
#include "experiments/pages/plot_draw.h"
#include "experiments/pages/sha256.h"
#include "experiments/base/shell.h"
#include "experiments/base/json.h"
#include "solvers/core/input.h"
#include "solvers/core/shown.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static perp_ctx ctx;

/* What a shell makes of a word; free it. */
static char *spoken(const char *word)
{
  char *command = perp_xprintf("printf '%%s.' %s >said", word);
  const char *const argv[] = { "sh", "-c", command, NULL };
  int status = 1;
  if (perp_process_run(&ctx, &(perp_process){ .argv = argv }, &status) != PERP_OK) bail("no sh");
  free(command);
  return status == 0 ? perp_read_file("said", NULL) : perp_xstrdup("(failed)");
}

static void test_words(void)
{
  static const char *const nasty[] = { "plain",     "",      "it's",      "a b",     "$HOME",
                                       "`touch x`", "$(ls)", "a\nb",      "\"q\"",   "\\",
                                       "-rf",       "*",     "~",         "a;b&c|d", "#x",
                                       "'",         "''",    "!x",        "=ls",     "a=b",
                                       "\xc3\xa4",  "\t",    "{a,b}",     "<x>y",    "'$(touch x)'",
                                       "%s",        "a\\'b", "trailing\n" };
  for (size_t i = 0; i < sizeof nasty / sizeof *nasty; i++) {
    perp_text t = { 0 };
    perp_shell_word(&t, nasty[i]);
    char *said = spoken(t.s), *want = perp_xprintf("%s.", nasty[i]);
    ok(strcmp(said, want) == 0 && !perp_exists("x"), "a shell reads text %zu as it was meant", i);
    perp_text two = { 0 };
    perp_text_add(&two, " --plugin %s", t.s);
    ok(perp_shell_only_words(two.s) == perp_shell_showable(nasty[i]), "... and it is only words");
    perp_text_free(&two);
    perp_text_free(&t);
    free(said);
    free(want);
  }
  perp_text t = { 0 };
  perp_shell_path(&t, "-rf x");
  ok(strcmp(t.s, "'./-rf x'") == 0, "a path is no option: %s", t.s);
  perp_text_free(&t);
  static const char *const more[] = { " --plugin x; touch y",
                                      " x $(touch y)",
                                      " `y`",
                                      " 'open",
                                      " a|b",
                                      " a & b",
                                      " >y",
                                      " \"$(y)\"",
                                      " a\nb",
                                      " \\;" };
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    ok(!perp_shell_only_words(more[i]), "more than words: text %zu", i);
}

static bool holds(const char *path, const char *text)
{
  char *now = perp_read_file(path, NULL);
  bool same = now != NULL && strcmp(now, text) == 0;
  free(now);
  return same;
}

static int entries(const char *folder)
{
  char *command = perp_xprintf("test $(ls -A %s | wc -l) = 0", folder);
  int status = system(command);
  free(command);
  return status;
}

static void test_files(void)
{
  if (mkdir("in", 0755) != 0 || perp_write_file(&ctx, "outside", "mine", 4) != PERP_OK ||
      symlink("../outside", "in/link") != 0 || symlink("..", "in/folder") != 0 ||
      mkfifo("in/pipe", 0600) != 0)
    bail("no files");
  ok(perp_write_file(&ctx, "in/link", "new", 3) == PERP_OK && holds("in/link", "new") &&
         holds("outside", "mine"),
     "a link is replaced, what it led to stays");
  perp_out o;
  ok(perp_out_open(&ctx, "in/half", &o) == PERP_OK && fputs("half", o.f) > 0 &&
         perp_out_close(&ctx, &o, false) == PERP_OK && !perp_exists("in/half"),
     "a file that is given up is not there");
  ok(perp_out_open(&ctx, "in/mode", &o) == PERP_OK && !perp_exists("in/mode") &&
         (o.part == NULL || strstr(o.part, "in/.perp-") != NULL) &&
         perp_out_close(&ctx, &o, true) == PERP_OK && perp_exists("in/mode"),
     "it has its name when it is whole; before it has none, or one beside it");
  ok(perp_write_file(&ctx, "in", "x", 1) == PERP_ERR_IO &&
         perp_write_file(&ctx, "no/x", "x", 1) == PERP_ERR_IO,
     "a folder is no file: %s", ctx.msg);
  ok(perp_write_file(&ctx, "/dev/null", "x", 1) == PERP_OK && !holds("/dev/null", "x"),
     "a device stays one");
  ok(perp_make_part(&ctx, "in", "folder") == PERP_ERR_IO && strstr(ctx.msg, "is a link") != NULL,
     "no part of a folder is a link: %s", ctx.msg);
  ok(perp_make_part(&ctx, "in", "sub") == PERP_OK && perp_make_part(&ctx, "in", "sub") == PERP_OK,
     "others are made");
  perp_remove_files("in/folder", "");
  ok(holds("outside", "mine"), "nothing is removed through a link");
  size_t n;
  unlink("in/link");
  if (symlink("../outside", "in/link") != 0) bail("symlink");
  ok(perp_read_plain("in/link", &n) == NULL && perp_read_plain("in/pipe", &n) == NULL,
     "neither a link nor a pipe is read");
  unlink("in/link"), unlink("in/pipe"), unlink("in/folder"), unlink("in/mode"), rmdir("in/sub");
  ok(entries("in") == 0, "nothing else is left");
}

static void test_temporary(void)
{
  struct stat st;
  char here[4096], part[4200];
  if (getcwd(here, sizeof here) == NULL || mkdir("tmp", 0755) != 0) bail("tmp");
  snprintf(part, sizeof part, "%s/tmp", here);
  setenv("TMPDIR", part, 1);
  char *a = perp_temp_folder(&ctx), *b = perp_temp_folder(&ctx);
  ok(a != NULL && b != NULL && strcmp(a, b) != 0 && strncmp(a, part, strlen(part)) == 0 &&
         stat(a, &st) == 0 && (st.st_mode & 0777) == 0700,
     "temporary folders are in TMPDIR, for this user only");
  char *file = perp_xprintf("%s/x", a), *link = perp_xprintf("%s/y", a);
  if (perp_write_file(&ctx, file, "x", 1) != PERP_OK || symlink(here, link) != 0) bail("files");
  free(file);
  free(link);
  perp_temp_remove(a);
  perp_temp_remove(b);
  ok(entries("tmp") == 0 && perp_exists("outside"), "they are removed, not what links led to");
  setenv("TMPDIR", "/nonexistent", 1);
  ok(perp_temp_folder(&ctx) == NULL && strstr(ctx.msg, "/nonexistent") != NULL,
     "a TMPDIR that is not there is an error: %s", ctx.msg);
  unsetenv("TMPDIR");
}

static void test_gnuplot(void)
{
  if (system("command -v gnuplot >/dev/null") != 0) {
    skip("gnuplot is not installed", "figures whose texts are commands");
    return;
  }
  static const char evil[] = "it's `touch pwned` \".system('touch pwned').\"\n! touch pwned\n"
                             "' ; system(\"touch pwned\") ; x='\\";
  double x[] = { 1, 2, 3 }, y[] = { 1, 2, 4 };
  perp_curve curve = { .label = evil, .n = 3, .x = x, .y = y };
  perp_figure f = { .id = "good",
                    .title = evil,
                    .xlabel = evil,
                    .ylabel = evil,
                    .alt = evil,
                    .n = 1,
                    .curves = &curve };
  if (perp_make_dirs(&ctx, "figs") != PERP_OK) bail("%s", ctx.msg);
  static const char lua[] = "os.execute('touch pwned ../pwned')";
  if (perp_write_file(&ctx, "figs/gnuplot-tikz.lua", lua, strlen(lua)) != PERP_OK ||
      symlink("../outside", "figs/good.svg") != 0 || symlink("../outside", "figs/good.gp") != 0)
    bail("%s", ctx.msg);
  ok(perp_figure_draw(&ctx, &f, "figs", "svg") == PERP_OK && holds("outside", "mine"),
     "a figure whose texts are commands, over planted links: %s", ctx.msg);
  perp_figure_draw(&ctx, &f, "figs", "tikz"); /* needs gnuplot's own script, which may be missing */
  ok(!perp_exists("pwned") && !perp_exists("figs/pwned"), "nothing of them is run");
  f.id = "../a";
  ok(perp_figure_draw(&ctx, &f, "figs", "svg") == PERP_ERR_ARG, "a name with a folder is refused");
  f.id = "a'.system('touch pwned').'";
  ok(perp_figure_draw(&ctx, &f, "figs", "svg") == PERP_ERR_ARG && !perp_exists("pwned"),
     "... and one with quotes");
}

static void test_hash(void)
{
  /* the examples of FIPS 180-4, by sha256sum and base64 */
  static const struct {
    const char *text, *hash;
  } known[] = {
    { "", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" },
    { "abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=" },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char *text = perp_sha256_base64(known[i].text, strlen(known[i].text));
    ok(strcmp(text, known[i].hash) == 0, "SHA-256 of '%s'", known[i].text);
    free(text);
  }
  /* lengths around the ends of blocks, as Python's hashlib has them */
  static const struct {
    size_t n;
    const char *hash;
  } long_ones[] = { { 55, "hVKLW6/1Y5y459rKedCFrCmsCXjoc+11JxWGFrK2w3k=" },
                    { 56, "+M4vjWmQxjlmj+QEJi817XLYuxRa1rrnhq9yhERzht8=" },
                    { 63, "m0l3cAOkFD2MP00wAutjHGvaiwMKPMyH+KIdX2HInoc=" },
                    { 64, "7o5lhZDJpeEZQAp3RBWgHbEE3h7m4sKexpqnPvRlRNI=" },
                    { 65, "K2w/fxKxsS/FQJYm3E5TAtjTcILL7d6ndV6sQ6ugOcg=" },
                    { 119, "yLyKbpYmWGu4iK0THUTtK9N/xgjpApBK3jxWbEII5so=" },
                    { 120, "d6LUnXKhHkFnjFH48Mtn9ctXDzA3DDrv/iZqDR7kMgk=" },
                    { 128, "ZScTvLeVppePqEqo0HHRPp7lgajnFuirGNqknR6SA2A=" },
                    { 1000, "Lmu6Hzz0j+RfocVuJbR/tiLd5Q66HhfgpyRk4yv0q0E=" } };
  char bytes[1000];
  memset(bytes, 'q', sizeof bytes);
  for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++) {
    char *text = perp_sha256_base64(bytes, long_ones[i].n);
    ok(strcmp(text, long_ones[i].hash) == 0, "... of %zu letters", long_ones[i].n);
    free(text);
  }
}

/* UTF-8 by its definition (RFC 3629, section 3); the number of bytes. */
static int encoded(unsigned code, char text[5])
{
  const int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
  memset(text, 0, 5);
  for (int i = n - 1; i > 0; i--, code >>= 6) text[i] = (char)(0x80 | (code & 0x3f));
  text[0] = (char)(lead[n] | code);
  return n;
}

static void test_shown(void)
{
  int wrong = 0;
  for (unsigned code = 1; code < 0x110000; code++) {
    char text[5];
    unsigned got = 0;
    const int n = encoded(code, text), bytes = perp_utf8(text, &got);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const bool hidden = surrogate || (code < 0x20 && code != 9 && code != 10) ||
                        (code >= 0x7f && code <= 0x9f) || (code >= 0x202a && code <= 0x202e) ||
                        (code >= 0x2066 && code <= 0x2069);
    wrong += surrogate ? bytes != 0 : bytes != n || got != code;
    wrong += perp_shown_bytes(text) != (hidden ? 0 : n);
  }
  ok(wrong == 0, "of all characters those may be shown that do nothing to a terminal: %d", wrong);
  static const char *const broken[] = { "\x80",
                                        "\xc1\xbf",
                                        "\xcd",
                                        "\xcdtd",
                                        "\xe0\x80\x80",
                                        "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff" };
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    unsigned code = 1;
    ok(perp_utf8(broken[i], &code) == 0 && code == 0 && !perp_shown_all(broken[i]),
       "broken bytes %zu are no character", i);
  }
  char text[] = "a\033[31m\xc2\x9b\xe2\x80\xae\xcdtd\tb\n";
  ok(strcmp(perp_shown_clean(text), "a?[31m???td\tb\n") == 0, "question marks: %s", text);
  ok(perp_shown_clean(NULL) == NULL, "no text");
  static const char others[] = "{\"a\\u001b\": [\"x\\u202e\", {\"b\": \"\xc2\x9b\"}]}";
  json_t *json = perp_json_read(others, strlen(others));
  char *said = json != NULL ? json_dumps(json, 0) : NULL;
  ok(said != NULL && strcmp(said, "{\"a?\": [\"x?\", {\"b\": \"?\"}]}") == 0,
     "JSON of others, keys too: %s", said != NULL ? said : "none");
  free(said);
  json_decref(json);
}

static void test_input(void)
{
  FILE *f = NULL;
  char *line = NULL;
  size_t size = 0;
  ssize_t n = 0;
  ok(perp_input_open(&ctx, "/dev/null", 1, &f) == PERP_ERR_FORMAT &&
         strstr(ctx.msg, "not a regular file") != NULL,
     "a device is no input");
  ok(perp_input_open(&ctx, "/", 1, &f) == PERP_ERR_FORMAT && strstr(ctx.msg, "a folder") != NULL,
     "nor is a folder");
  ok(perp_input_open(&ctx, "none", 1, &f) == PERP_ERR_IO, "what is not there");
  if (perp_write_file(&ctx, "lines", "one\n\nt\0o\nend", 12) != PERP_OK) bail("no file");
  ok(perp_input_open(&ctx, "lines", 11, &f) == PERP_ERR_FORMAT, "a file of a byte too many");
  if (perp_input_open(&ctx, "lines", 12, &f) != PERP_OK) bail("not open");
  static const ssize_t lengths[] = { 4, 1, 4, 3, -1, -1 };
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    ok(perp_input_line(&ctx, "lines", f, &line, &size, &n) == PERP_OK && n == lengths[i],
       "line %zu has %zd bytes", i + 1, n);
  fclose(f);
  if (perp_input_open(&ctx, "/proc/self/mem", 1, &f) != PERP_OK) bail("no /proc/self/mem");
  ok(perp_input_line(&ctx, "mem", f, &line, &size, &n) == PERP_ERR_IO && n < 0,
     "a read error is no end: %s", ctx.msg);
  fclose(f);
  free(line);
}

int main(void)
{
  static char dir[] = "/tmp/perp-trust-XXXXXX";
  perp_ctx_init(&ctx);
  if (mkdtemp(dir) == NULL || chdir(dir) != 0) bail("no temporary folder");
  test_words();
  test_files();
  test_temporary();
  test_gnuplot();
  test_hash();
  test_shown();
  test_input();
  if (chdir("/") != 0) bail("chdir");
  perp_temp_remove(perp_xstrdup(dir));
  return tap_done();
}
