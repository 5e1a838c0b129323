// A Laplace histogram for RefuteDP's command protocol, in Java.
//
//   javac Laplace.java
//   refutedp check --command "java Laplace" --epsilon 0.5 --adjacency one-differs
//   refutedp check --command "java Laplace --bug" --epsilon 0.5 --adjacency one-differs
//
// Requests are read with regular expressions, which is enough for data that is a list of numbers; a program that has
// a JSON library at hand had better use it.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public final class Laplace {
    private static final int BATCH = 100;
    private static final String NUMBER = "(-?[0-9][0-9.eE+-]*|\\{\"\\$(?:float|int)\": \"[^\"]*\"\\})";
    private static final Pattern DATA = Pattern.compile("\"data\": \\[([^\\[\\]]*)\\]");
    private static final Pattern ITEM = Pattern.compile(NUMBER);

    private static String find(String line, String key) {
        Matcher found = Pattern.compile("\"" + key + "\": " + NUMBER).matcher(line);
        return found.find() ? found.group(1) : null;
    }

    private static double read(String text) {
        if (!text.startsWith("{")) {
            return Double.parseDouble(text);
        }
        String inner = text.substring(text.indexOf(": \"") + 3, text.length() - 2);
        return switch (inner) {
            case "nan" -> Double.NaN;
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(inner);
        };
    }

    private static String write(double value) {
        if (Double.isNaN(value)) {
            return "{\"$float\": \"nan\"}";
        }
        if (Double.isInfinite(value)) {
            return "{\"$float\": \"" + (value > 0 ? "inf" : "-inf") + "\"}";
        }
        return Double.toString(value);
    }

    private static double laplace(SplittableRandom random, double scale) {
        return scale * (Math.log(1 - random.nextDouble()) - Math.log(1 - random.nextDouble()));
    }

    /** The last digits of a float tell which numbers were added: round them away. */
    private static double onGrid(double value) {
        return Math.rint(value * 1024) / 1024;
    }

    private static String answer(String line, boolean bug) {
        String id = find(line, "id");
        String epsilon = find(line, "epsilon");
        Matcher data = DATA.matcher(line);
        if (epsilon == null || !data.find()) {
            return "{\"id\": " + id + ", \"failure\": \"the request needs data and epsilon\"}\n";
        }
        List<Double> queries = new ArrayList<>();
        for (Matcher item = ITEM.matcher(data.group(1)); item.find(); ) {
            queries.add(read(item.group(1)));
        }
        double scale = (bug ? 0.5 : 1.0) / read(epsilon); // the bug: half the noise
        SplittableRandom random = new SplittableRandom(Long.parseLong(find(line, "seed")));
        long count = Long.parseLong(find(line, "count"));
        StringBuilder text = new StringBuilder();
        for (long run = 0; run < count; run++) {
            text.append(run % BATCH != 0 ? ", [" : (run > 0 ? "]}\n" : "") + "{\"id\": " + id + ", \"outputs\": [[");
            for (int i = 0; i < queries.size(); i++) {
                text.append(i > 0 ? ", " : "").append(write(onGrid(queries.get(i) + laplace(random, scale))));
            }
            text.append("]");
        }
        return text.append(count > 0 ? "]}\n" : "").append("{\"id\": " + id + ", \"done\": true}\n").toString();
    }

    public static void main(String[] arguments) throws IOException {
        boolean bug = arguments.length > 0 && arguments[0].equals("--bug");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.print(answer(line, bug));
            answers.flush();
        }
    }
}
