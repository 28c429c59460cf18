/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/gnuplot.h"

#include "experiments/base/shell.h"
#include "experiments/base/files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int gnuplot_plain(int c)
{
  return (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c;
}

void perp_gnuplot_text(FILE *out, const char *text)
{
  /* between single quotes gnuplot knows one special character, the quote, and a line ends the
   * string */
  fputc('\'', out);
  for (; *text != '\0'; text++) {
    if (*text == '\'') fputc('\'', out);
    fputc(gnuplot_plain(*text), out);
  }
  fputc('\'', out);
}

void perp_gnuplot_field(FILE *out, const char *text)
{
  fputc('"', out);
  for (; *text != '\0'; text++) fputc(*text == '"' ? '\'' : gnuplot_plain(*text), out);
  fputc('"', out);
}

/* What gnuplot says is of interest when it fails; it warns of long keys that it draws well.  The
 * line it ends with: an error comes last, after the command and a mark below it. */
static void gnuplot_last_line(int said, char *text, size_t size)
{
  off_t end = said >= 0 ? lseek(said, 0, SEEK_END) : 0, from = end - (off_t)(size - 1);
  ssize_t n = end > 0 ? pread(said, text, size - 1, from > 0 ? from : 0) : 0;
  while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
  text[n > 0 ? n : 0] = '\0';
  char *line = strrchr(text, '\n');
  if (line != NULL) memmove(text, line + 1, strlen(line));
}

static perp_status gnuplot_run(perp_ctx *ctx, const perp_gnuplot *gnuplot, const char *folder)
{
  const char *const with[] = { "gnuplot", "-e", gnuplot->set, gnuplot->script_name, NULL };
  const char *const without[] = { "gnuplot", gnuplot->script_name, NULL };
  perp_process process = { gnuplot->set != NULL ? with : without, folder, true,
                           memfd_create("gnuplot", MFD_CLOEXEC) };
  int status = 0;
  perp_status started = perp_process_run(ctx, &process, &status);
  char words[300];
  gnuplot_last_line(process.said, words, sizeof words);
  if (process.said >= 0) close(process.said);
  if (started != PERP_OK) {
    size_t n = strlen(ctx->msg);
    snprintf(ctx->msg + n, sizeof ctx->msg - n, " (package gnuplot-nox)");
    return started;
  }
  if (WIFSIGNALED(status))
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: ended by signal %d", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0 && words[0] != '\0')
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: %s", words);
  if (WEXITSTATUS(status) != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: status %d", WEXITSTATUS(status));
  return PERP_OK;
}

perp_status perp_gnuplot_draw(perp_ctx *ctx, const perp_gnuplot *gnuplot, char **picture,
                              size_t *size)
{
  *picture = NULL;
  char *folder = perp_temp_folder(ctx);
  if (folder == NULL) return PERP_ERR_IO;
  char *script = perp_xprintf("%s/%s", folder, gnuplot->script_name),
       *data = perp_xprintf("%s/%s", folder, gnuplot->data_name),
       *drawn = perp_xprintf("%s/%s", folder, gnuplot->picture_name);
  perp_status status = perp_write_file(ctx, script, gnuplot->script, strlen(gnuplot->script));
  if (status == PERP_OK) status = perp_write_file(ctx, data, gnuplot->data, strlen(gnuplot->data));
  if (status == PERP_OK) status = gnuplot_run(ctx, gnuplot, folder);
  if (status == PERP_OK && (*picture = perp_read_plain(drawn, size)) == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot did not write the picture %s",
                       gnuplot->picture_name);
  free(script);
  free(data);
  free(drawn);
  perp_temp_remove(folder);
  return status;
}
