package bertspan;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * Answers questions from a .tflite file that export_tflite wrote, by the library bert_span_jni.
 *
 * <pre>{@code
 * try (SpanExtractor extractor = new SpanExtractor("qa.tflite")) {
 *   String passage = "John Smith came.";
 *   Span best = extractor.answer("Who came?", passage).best;
 *   passage.substring(best.start, best.end);  // "John Smith"
 * }
 * }</pre>
 *
 * Methods of one extractor wait for each other.
 */
public final class SpanExtractor implements AutoCloseable {
  /** What a model can run on. */
  public enum Accelerator { CPU, GPU, NPU }

  /** A part of the passage, or "no answer", which is empty. */
  public static final class Span {
    /** Half-open offsets into the passage, as its {@code substring} takes them. */
    public final int start, end;
    public final float startLogit, endLogit;
    /** Start logit + end logit, or a mean probability. */
    public final double score;
    public final double probability;

    private Span(double[] values, int at) {
      start = (int) values[at];
      end = (int) values[at + 1];
      startLogit = (float) values[at + 2];
      endLogit = (float) values[at + 3];
      score = values[at + 4];
      probability = values[at + 5];
    }
  }

  /** The best span, and the list that it was chosen from. */
  public static final class Answer {
    public final boolean isAnswerable;
    /** The score of "no answer" less that of the best span. */
    public final double nullOdds;
    /** Whether max_query_length cut a question that was read. */
    public final boolean questionTruncated;
    public final Span best;
    public final List<Span> nBest;

    private Answer(double[] values) {
      isAnswerable = values[0] != 0;
      nullOdds = values[1];
      questionTruncated = values[2] != 0;
      best = new Span(values, 3);
      List<Span> spans = new ArrayList<>();
      for (int at = 9; at < values.length; at += 6) spans.add(new Span(values, at));
      nBest = Collections.unmodifiableList(spans);
    }
  }

  static { System.loadLibrary("bert_span_jni"); }

  private long handle;

  /** Reads a file and runs it in one thread of the CPU. */
  public SpanExtractor(String path) throws IOException {
    this(path, 1, Accelerator.CPU);
  }

  /** Reads a file. Runs it on the CPU if the accelerator cannot run all of it; see runsOn. */
  public SpanExtractor(String path, int numThreads, Accelerator accelerator) throws IOException {
    byte[] name = encoded("path", path);
    if (path.indexOf('\0') >= 0) throw new IOException("The path has a NUL: " + path);
    handle = opened(open(name, numThreads, ordinal(accelerator)));
  }

  /** The same for the bytes of a file, such as an asset; a direct buffer, which is copied. */
  public SpanExtractor(ByteBuffer file, int numThreads, Accelerator accelerator)
      throws IOException {
    if (!Objects.requireNonNull(file, "file").isDirect()) {
      throw new IllegalArgumentException("The buffer must be direct.");
    }
    handle = opened(openBuffer(file.slice(), file.remaining(), numThreads, ordinal(accelerator)));
  }

  /** Answers a question. */
  public synchronized Answer answer(String question, String context) {
    double[] values = ask(handle(), encoded("question", question), encoded("context", context));
    if (values == null) throw new IllegalStateException(decoded(error()));
    return new Answer(values);
  }

  /** An answer with its tokens, windows and logits, as JSON; see bert_span_ask_json. */
  public synchronized String steps(String question, String context) {
    byte[] json = steps(handle(), encoded("question", question), encoded("context", context));
    if (json == null) throw new IllegalStateException(decoded(error()));
    return decoded(json);
  }

  /** What the model runs on. */
  public synchronized Accelerator runsOn() {
    return Accelerator.values()[runsOn(handle())];
  }

  @Override
  public synchronized void close() {
    close(handle);
    handle = 0;
  }

  private long handle() {
    if (handle == 0) throw new IllegalStateException("The extractor is closed.");
    return handle;
  }

  private static long opened(long handle) throws IOException {
    if (handle == 0) throw new IOException(decoded(error()));
    return handle;
  }

  private static int ordinal(Accelerator accelerator) {
    return Objects.requireNonNull(accelerator, "accelerator").ordinal();
  }

  /** UTF-8 with U+FFFD, which has one unit, too, in place of half a surrogate pair. */
  private static byte[] encoded(String name, String text) {
    Objects.requireNonNull(text, name);
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder()
          .onMalformedInput(CodingErrorAction.REPLACE)
          .replaceWith("\uFFFD".getBytes(StandardCharsets.UTF_8))
          .encode(CharBuffer.wrap(text));
      return Arrays.copyOf(bytes.array(), bytes.limit());
    } catch (CharacterCodingException error) {
      throw new AssertionError(error);
    }
  }

  private static String decoded(byte[] text) {
    return new String(text, StandardCharsets.UTF_8);
  }

  private static native long open(byte[] path, int numThreads, int accelerator);
  private static native long openBuffer(
      ByteBuffer file, long size, int numThreads, int accelerator);
  private static native double[] ask(long handle, byte[] question, byte[] context);
  private static native byte[] steps(long handle, byte[] question, byte[] context);
  private static native int runsOn(long handle);
  private static native byte[] error();
  private static native void close(long handle);
}
