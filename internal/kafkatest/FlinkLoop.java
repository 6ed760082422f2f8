import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;

/**
 * Runs Flink jobs in this JVM, since Flink's classes alone take seconds to load. Each job has a cluster of its own.
 *
 * A request is a line of standard input, an answer a line of standard output, both encoded as a URL's query is. The end of
 * standard input ends the JVM.
 *
 * The job reads topics, counts the records of each key in keyed state, and appends a line to a file for each record:
 * topic, partition, offset, key and the count, with tabs between them.
 */
public final class FlinkLoop {
    private static final long PATIENCE_SECONDS = 60;

    /** A job that was started. */
    private static final class Job {
        final JobClient client;
        final CompletableFuture<?> end;

        Job(JobClient client) {
            this.client = client;
            this.end = client.getJobExecutionResult();
        }
    }

    private static final Map<String, Job> JOBS = new HashMap<>();

    /** The jobs' files, shared by the subtasks of a job. */
    private static final Map<String, Writer> FILES = new HashMap<>();

    public static void main(String[] args) throws IOException {
        PrintStream answers = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err); // what Flink prints is its log
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            Map<String, String> answer = new LinkedHashMap<>();
            try {
                call(decode(line), answer);
            } catch (Throwable e) {
                StringWriter text = new StringWriter();
                e.printStackTrace(new PrintWriter(text));
                answer.put("error", text.toString());
            }
            answers.println(encode(answer));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void call(Map<String, String> request, Map<String, String> answer) throws Exception {
        String id = request.get("id");
        switch (request.get("call")) {
            case "start":
                JOBS.put(id, new Job(start(request)));
                return;
            case "savepoint":
                answer.put("path", JOBS.get(id).client.triggerSavepoint(request.get("dir"), format(request)).get(PATIENCE_SECONDS, TimeUnit.SECONDS));
                return;
            case "stop":
                answer.put("path", JOBS.get(id).client.stopWithSavepoint(false, request.get("dir"), format(request)).get(PATIENCE_SECONDS, TimeUnit.SECONDS));
                ended(JOBS.remove(id));
                return;
            case "cancel":
                Job job = JOBS.remove(id);
                if (!job.end.isDone()) {
                    job.client.cancel().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                }
                ended(job);
                return;
            case "status":
                CompletableFuture<?> end = JOBS.get(id).end;
                answer.put("running", Boolean.toString(!end.isDone()));
                if (end.isCompletedExceptionally()) {
                    end.get(); // throws why
                }
                return;
            default:
                throw new IllegalArgumentException("call " + request.get("call"));
        }
    }

    /** Waits until a job's cluster has ended, however it did. */
    private static void ended(Job job) throws Exception {
        try {
            job.end.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (java.util.concurrent.ExecutionException e) {
            // Cancelled.
        }
    }

    private static SavepointFormatType format(Map<String, String> request) {
        return SavepointFormatType.valueOf(request.get("format").toUpperCase());
    }

    private static JobClient start(Map<String, String> request) throws Exception {
        Configuration conf = new Configuration();
        for (Map.Entry<String, String> e : request.entrySet()) {
            if (e.getKey().startsWith("conf.")) {
                conf.setString(e.getKey().substring("conf.".length()), e.getValue());
            }
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(conf);
        env.setParallelism(Integer.parseInt(request.get("parallelism")));
        String file = request.get("file");
        synchronized (FILES) {
            FILES.computeIfAbsent(file, FlinkLoop::open);
        }
        SingleOutputStreamOperator<String> source = request.containsKey("legacy") ? legacy(env, request) : modern(env, request);
        if (request.containsKey("uid")) {
            source.uid(request.get("uid"));
        }
        source.keyBy(new ByKey()).process(new Count(file)).uid("counter");
        return env.executeAsync("koffset test");
    }

    private static Writer open(String file) {
        try {
            return Files.newBufferedWriter(Paths.get(file), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static SingleOutputStreamOperator<String> modern(StreamExecutionEnvironment env, Map<String, String> request) {
        KafkaSourceBuilder<String> b = KafkaSource.<String>builder()
            .setBootstrapServers(request.get("bootstrap"))
            .setTopics(Arrays.asList(request.get("topics").split(",")))
            .setDeserializer(new Line());
        if (request.containsKey("group")) {
            b.setGroupId(request.get("group"));
        }
        switch (request.get("from")) {
            case "earliest":
                b.setStartingOffsets(OffsetsInitializer.earliest());
                break;
            case "latest":
                b.setStartingOffsets(OffsetsInitializer.latest());
                break;
            case "committed": // without a commit the job fails
                b.setStartingOffsets(OffsetsInitializer.committedOffsets(OffsetResetStrategy.NONE));
                break;
            default:
                throw new IllegalArgumentException("from " + request.get("from"));
        }
        return env.fromSource(b.build(), WatermarkStrategy.noWatermarks(), "Kafka");
    }

    /** FlinkKafkaConsumer, which Flink 2 does not have: its class is compiled for Flink 1 alone. */
    @SuppressWarnings("unchecked")
    private static SingleOutputStreamOperator<String> legacy(StreamExecutionEnvironment env, Map<String, String> request) throws Exception {
        return (SingleOutputStreamOperator<String>) Class.forName("FlinkLegacy")
            .getMethod("source", StreamExecutionEnvironment.class, Map.class).invoke(null, env, request);
    }

    private static String text(byte[] b) {
        return b == null ? "" : new String(b, StandardCharsets.UTF_8);
    }

    static String lineOf(ConsumerRecord<byte[], byte[]> r) {
        return r.topic() + "\t" + r.partition() + "\t" + r.offset() + "\t" + text(r.key());
    }

    /** A record as a line. */
    public static final class Line implements KafkaRecordDeserializationSchema<String> {
        private static final long serialVersionUID = 1;

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> r, Collector<String> out) {
            out.collect(lineOf(r));
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }

    /** The key of a line. */
    public static final class ByKey implements KeySelector<String, String> {
        private static final long serialVersionUID = 1;

        @Override
        public String getKey(String line) {
            return line.split("\t", -1)[3];
        }
    }

    /** Counts the records of each key, and writes each down with its count. */
    public static final class Count extends KeyedProcessFunction<String, String, String> {
        private static final long serialVersionUID = 1;

        private final String file;

        Count(String file) {
            this.file = file;
        }

        @Override
        public void processElement(String line, Context context, Collector<String> out) throws Exception {
            ValueState<Long> state = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            Long before = state.value();
            long count = before == null ? 1 : before + 1;
            state.update(count);
            synchronized (FILES) {
                Writer w = FILES.get(file);
                w.write(line + "\t" + count + "\n");
                w.flush();
            }
        }
    }

    private static Map<String, String> decode(String line) throws IOException {
        Map<String, String> out = new HashMap<>();
        for (String pair : line.split("&")) {
            int i = pair.indexOf('=');
            out.put(URLDecoder.decode(pair.substring(0, i), "UTF-8"), URLDecoder.decode(pair.substring(i + 1), "UTF-8"));
        }
        return out;
    }

    private static String encode(Map<String, String> m) throws IOException {
        StringBuilder out = new StringBuilder();
        for (Map.Entry<String, String> e : m.entrySet()) {
            out.append(out.length() > 0 ? "&" : "").append(e.getKey()).append('=').append(URLEncoder.encode(e.getValue(), "UTF-8"));
        }
        return out.toString();
    }
}
