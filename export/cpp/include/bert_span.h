/* Answers questions from a .tflite file that export_tflite wrote, as
 * TFLiteSpanExtractor does in Python: passages of any length, cased and
 * uncased, accents, unanswerable questions.
 *
 *   const char question[] = "Who came?", passage[] = "John Smith came.";
 *   bert_span_extractor* extractor = bert_span_open("qa.tflite", NULL);
 *   if (extractor == NULL) {
 *     fprintf(stderr, "%s\n", bert_span_error());
 *     return 1;
 *   }
 *   const bert_span_answer* answer = bert_span_ask(
 *       extractor, question, strlen(question), passage, strlen(passage),
 *       NULL, NULL);
 *   if (answer == NULL) {
 *     fprintf(stderr, "%s\n", bert_span_error());
 *   } else {
 *     puts(answer->best.text);  // John Smith
 *   }
 *   bert_span_free_answer(answer);
 *   bert_span_close(extractor);
 *
 * A function that returns a pointer returns NULL if it fails, and
 * bert_span_error says why. NULL for an extractor, a path or a text is such a
 * failure, also where the text's size is 0. No C++ exception leaves a function.
 *
 * Texts are UTF-8. Any bytes may be a question or a passage: what is not UTF-8
 * counts as U+FFFD, each longest part of a character as one.
 *
 * An extractor serves one thread at a time; several may each have their own.
 */

#ifndef BERT_SPAN_BERT_SPAN_H_
#define BERT_SPAN_BERT_SPAN_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERT_SPAN_API __attribute__((visibility("default")))

/* A model with its tokenizer and options. */
typedef struct bert_span_extractor bert_span_extractor;

typedef enum bert_span_accelerator {
  BERT_SPAN_CPU = 0,
  BERT_SPAN_GPU = 1,
  BERT_SPAN_NPU = 2,
} bert_span_accelerator;

/* Zeros are the defaults. */
typedef struct bert_span_options {
  int num_threads; /* Of the CPU, at most 256; 0 for 1. */
  /* Runs the model if it can run all of it; the CPU does otherwise. */
  bert_span_accelerator accelerator;
  /* Where LiteRT's libraries for accelerators are; NULL for beside LiteRT's. */
  const char* library_folder;
  /* Above it "no answer" is the answer, where questions may have none; NULL for
   * that of the file. */
  const double* null_score_diff_threshold;
} bert_span_options;

/* A part of the passage, or "no answer" with an empty text. Offsets are
 * half-open. */
typedef struct bert_span_span {
  const char* text; /* UTF-8, then a 0 that text_size does not count. */
  size_t text_size;
  size_t byte_start, byte_end;   /* Bytes of the passage as given. */
  size_t char_start, char_end;   /* Code points. */
  size_t utf16_start, utf16_end; /* Java, Kotlin, JavaScript, NSString. */
  float start_logit, end_logit; /* 0 of a B/I/O head. */
  /* Start logit + end logit, or a mean probability: for a B/I/O head of tags. */
  double score;
  double probability;
} bert_span_span;

typedef struct bert_span_answer {
  int is_answerable;
  /* Score of "no answer" less that of the best span; of a B/I/O head the log of
   * the odds that there is no span. */
  double null_odds;
  bert_span_span best;
  const bert_span_span* n_best; /* Best first; of a B/I/O head its spans. */
  size_t n_best_size;
  /* What the answer consists of, in order of position: nothing for "no answer",
   * any number of spans of a B/I/O head, otherwise the best. */
  const bert_span_span* spans;
  size_t num_spans;
  int question_truncated; /* max_query_length cut a question that was read. */
} bert_span_answer;

/* Reads a file. Options may be NULL. */
BERT_SPAN_API bert_span_extractor* bert_span_open(
    const char* path, const bert_span_options* options);

/* The same for the bytes of a file, which are copied. */
BERT_SPAN_API bert_span_extractor* bert_span_open_bytes(
    const void* bytes, size_t size, const bert_span_options* options);

/* What is freed may be NULL. Nothing may be used, or freed again, after it. */
BERT_SPAN_API void bert_span_close(bert_span_extractor* extractor);

/* What the model runs on. An accelerator that was asked for but cannot run all
 * of the model is not named here: the CPU is. For NULL it fails with the CPU.
 */
BERT_SPAN_API bert_span_accelerator
bert_span_runs_on(const bert_span_extractor* extractor);

/* The longest n-best list, n_best_size of the file; 0 of a B/I/O head, which has
 * no such limit. For NULL it fails with 0. */
BERT_SPAN_API size_t
bert_span_n_best_size(const bert_span_extractor* extractor);

/* Called after each window that was read. Anything but 0 stops the question,
 * which then fails. */
typedef int (*bert_span_progress)(void* user, size_t num_read,
                                  size_t num_windows);

/* Answers a question. The progress may be NULL. */
BERT_SPAN_API const bert_span_answer* bert_span_ask(
    bert_span_extractor* extractor, const char* question, size_t question_size,
    const char* context, size_t context_size, bert_span_progress progress,
    void* user);
BERT_SPAN_API void bert_span_free_answer(const bert_span_answer* answer);

/* An answer as a line of JSON with the names of the fields above; with steps it
 * is {"question_tokens": .., "context_tokens": .., "windows": ..,
 * "answer": ..}, as in the test vectors of export_tflite. */
BERT_SPAN_API char* bert_span_ask_json(bert_span_extractor* extractor,
                                       const char* question,
                                       size_t question_size,
                                       const char* context, size_t context_size,
                                       int with_steps);
BERT_SPAN_API void bert_span_free_text(char* text);

/* Why the last call of this thread that failed did. It is valid until the next
 * one fails. */
BERT_SPAN_API const char* bert_span_error(void);

#ifdef __cplusplus
}
#endif

#endif /* BERT_SPAN_BERT_SPAN_H_ */
