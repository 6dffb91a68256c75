import bertspan.SpanExtractor;
import bertspan.SpanExtractor.Accelerator;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;

/**
 * What SpanExtractor makes of many texts, as rows of JSON.
 *
 * <p>Rows MODEL answers of each question and passage: the answer
 *
 * <p>Rows MODEL steps the same, with tokens, windows and logits
 *
 * <p>Rows MODEL mistakes the exceptions of wrong arguments
 *
 * <p>Each text is four bytes with its number of chars, the highest first, and the chars.
 */
final class Rows {
  public static void main(String[] args) throws IOException {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    if (args[1].equals("mistakes")) {
      printMistakes(args[0], out);
      return;
    }
    DataInputStream in = new DataInputStream(System.in);
    boolean withSteps = args[1].equals("steps");
    try (SpanExtractor extractor = withSteps ? mapped(args[0]) : new SpanExtractor(args[0])) {
      for (; ; ) {
        String question = text(in);
        if (question == null) break;
        String context = text(in);
        out.println(
            withSteps
                ? extractor.steps(question, context)
                : json(extractor.answer(question, context), context));
      }
      out.flush();
      extractor.close();
      try {
        extractor.answer("", "");
      } catch (IllegalStateException error) {
        System.err.println(error.getMessage());
      }
    }
  }

  private interface Mistake {
    void make() throws IOException;
  }

  private static void printMistakes(String path, PrintStream out) throws IOException {
    SpanExtractor extractor = new SpanExtractor(path);
    Mistake[] mistakes = {
      () -> new SpanExtractor(null),
      () -> new SpanExtractor((ByteBuffer) null, 1, Accelerator.CPU),
      () -> new SpanExtractor(path, 1, null),
      () -> new SpanExtractor(ByteBuffer.allocateDirect(9), 1, null),
      () -> new SpanExtractor(path, -1, Accelerator.CPU),
      () -> new SpanExtractor(ByteBuffer.allocateDirect(0), 1, Accelerator.CPU),
      () -> extractor.answer(null, ""),
      () -> extractor.answer("", null),
      () -> extractor.steps(null, ""),
      () -> extractor.steps("", null),
      extractor::close,
      extractor::close,
      () -> extractor.answer("", ""),
      () -> extractor.steps("", ""),
      extractor::runsOn,
    };
    for (Mistake mistake : mistakes) {
      try {
        mistake.make();
        out.println("fine");
      } catch (IOException | RuntimeException error) {
        out.println(error.getClass().getSimpleName() + ": " + error.getMessage());
      }
    }
    out.flush();
  }

  private static SpanExtractor mapped(String path) throws IOException {
    try (FileChannel file = FileChannel.open(Paths.get(path))) {
      ByteBuffer bytes = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size());
      SpanExtractor extractor = new SpanExtractor(bytes, 2, Accelerator.GPU);
      System.err.println(extractor.runsOn());
      return extractor;
    }
  }

  private static String text(DataInputStream in) throws IOException {
    int size;
    try {
      size = in.readInt();
    } catch (EOFException end) {
      return null;
    }
    char[] chars = new char[size];
    for (int i = 0; i < size; i++) chars[i] = in.readChar();
    return new String(chars);
  }

  private static String json(SpanExtractor.Answer answer, String context) {
    StringBuilder json = new StringBuilder("{\"is_answerable\": ").append(answer.isAnswerable);
    json.append(", \"null_odds\": ").append(answer.nullOdds);
    json.append(", \"question_truncated\": ").append(answer.questionTruncated).append(", ");
    add(json, answer.best, context);
    json.append(", \"n_best\": [");
    String separator = "{";
    for (SpanExtractor.Span span : answer.nBest) {
      add(json.append(separator), span, context);
      json.append("}");
      separator = ", {";
    }
    return json.append("]}").toString();
  }

  private static void add(StringBuilder json, SpanExtractor.Span span, String context) {
    json.append("\"text\": \"");
    for (char unit : context.substring(span.start, span.end).toCharArray()) {
      json.append(String.format("\\u%04x", (int) unit));
    }
    json.append("\", \"utf16_start\": ").append(span.start);
    json.append(", \"utf16_end\": ").append(span.end);
    json.append(", \"char_start\": ").append(context.codePointCount(0, span.start));
    json.append(", \"char_end\": ").append(context.codePointCount(0, span.end));
    json.append(", \"start_logit\": ").append(span.startLogit);
    json.append(", \"end_logit\": ").append(span.endLogit);
    json.append(", \"score\": ").append(span.score);
    json.append(", \"probability\": ").append(span.probability);
  }
}
