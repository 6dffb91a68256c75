/* Calls bert_span.h from C: consumer MODEL QUESTION PASSAGE. */

#include <bert_span.h>
#include <stdio.h>
#include <string.h>

static int count(void* user, size_t num_read, size_t num_windows) {
  *(size_t*)user = num_read;
  return num_read > num_windows;
}

static int stop(void* user, size_t num_read, size_t num_windows) {
  (void)user, (void)num_read, (void)num_windows;
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  bert_span_options options = {0};
  options.num_threads = 2;
  bert_span_extractor* extractor = bert_span_open(argv[1], &options);
  if (extractor == NULL) return 1;
  const size_t sizes[] = {strlen(argv[2]), strlen(argv[3])};
  size_t num_windows = 0;
  const bert_span_answer* answer =
      bert_span_ask(extractor, argv[2], sizes[0], argv[3], sizes[1], count,
                    &num_windows);
  if (answer == NULL) return 1;
  printf("%zu\n%.*s\n", num_windows, (int)answer->best.text_size,
         answer->best.text);
  bert_span_free_answer(answer);
  if (bert_span_ask(extractor, argv[2], sizes[0], argv[3], sizes[1], stop,
                    NULL) != NULL) {
    return 1;
  }
  puts(bert_span_error());
  bert_span_close(extractor);
  if (bert_span_open("\xff" "missing", NULL) != NULL) return 1;
  puts(bert_span_error());
  options.num_threads = 100000;
  if (bert_span_open(argv[1], &options) != NULL) return 1;
  puts(bert_span_error());
  return 0;
}
