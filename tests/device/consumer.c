/* Calls bert_span.h from C: consumer MODEL QUESTION PASSAGE. */

#include <bert_span.h>
#include <math.h>
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

/* Prints why a call failed; 1 if it did not. */
static int failed(const void* result) {
  if (result == NULL) puts(bert_span_error());
  return result != NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  bert_span_options options = {0};
  options.num_threads = 2;
  bert_span_extractor* extractor = bert_span_open(argv[1], &options);
  if (extractor == NULL) return 1;
  const char *question = argv[2], *passage = argv[3];
  const size_t sizes[] = {strlen(question), strlen(passage)};
  size_t num_windows = 0;
  const bert_span_answer* answer =
      bert_span_ask(extractor, question, sizes[0], passage, sizes[1], count,
                    &num_windows);
  if (answer == NULL) return 1;
  printf("%zu\n%.*s\n", num_windows, (int)answer->best.text_size,
         answer->best.text);
  bert_span_free_answer(answer);
  int wrong = failed(bert_span_ask(extractor, question, sizes[0], passage,
                                   sizes[1], stop, NULL));
  wrong |= failed(bert_span_open("\xff" "missing", NULL));
  options.num_threads = 100000;
  wrong |= failed(bert_span_open(argv[1], &options));
  options.num_threads = -1;
  wrong |= failed(bert_span_open(argv[1], &options));
  options.num_threads = 0;
  options.accelerator = (bert_span_accelerator)7;
  wrong |= failed(bert_span_open(argv[1], &options));
  options.accelerator = BERT_SPAN_CPU;
  const double threshold = HUGE_VAL;
  options.null_score_diff_threshold = &threshold;
  wrong |= failed(bert_span_open(argv[1], &options));
  wrong |= failed(bert_span_open(NULL, NULL));
  wrong |= failed(bert_span_open_bytes(NULL, 0, NULL));
  wrong |= failed(bert_span_open_bytes(NULL, 5, NULL));
  wrong |= failed(bert_span_ask(extractor, NULL, 0, passage, 1, NULL, NULL));
  wrong |= failed(bert_span_ask(extractor, question, 1, NULL, 1, NULL, NULL));
  wrong |= failed(bert_span_ask_json(extractor, NULL, 1, passage, 1, 0));
  wrong |= failed(bert_span_ask_json(extractor, question, 1, NULL, 0, 0));
  wrong |= failed(bert_span_ask(extractor, question, (size_t)-1, passage, 1,
                                NULL, NULL));
  wrong |= failed(
      bert_span_ask_json(extractor, question, (size_t)-1, passage, 1, 1));
  if (bert_span_n_best_size(extractor) != 20) return 1;
  bert_span_close(extractor);
  wrong |= failed(bert_span_ask(NULL, question, 1, passage, 1, NULL, NULL));
  wrong |= failed(bert_span_ask_json(NULL, question, 1, passage, 1, 0));
  if (bert_span_runs_on(NULL) != BERT_SPAN_CPU) return 1;
  puts(bert_span_error());
  if (bert_span_n_best_size(NULL) != 0) return 1;
  puts(bert_span_error());
  bert_span_free_answer(NULL);
  bert_span_free_text(NULL);
  bert_span_close(NULL);
  return wrong;
}
