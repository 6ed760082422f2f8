import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.common.utils.Exit;

/**
 * Runs main methods of Kafka's tools one after the other in one JVM, since a JVM of its own costs each call about a second.
 *
 * Request on standard input: count, then that many strings (class name, arguments), then the call's standard input. Answer on
 * standard output: exit status, what it wrote to standard output, what it wrote to standard error. Numbers are 32 bits, big
 * endian; each string is a length and UTF-8. The end of standard input ends the JVM.
 */
public final class ToolLoop {
    /** What a tool gets instead of the end of the JVM. An Error, so that fewer catch blocks of tools stop it. */
    private static final class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    /** One call. The first exit counts, and so does only what was written until then: a real exit would not have come back. */
    private static final class Call {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final PrintStream outStream = new PrintStream(out, true, StandardCharsets.UTF_8);
        final PrintStream errStream = new PrintStream(err, true, StandardCharsets.UTF_8);
        private int status;
        private byte[] finalOut;
        private byte[] finalErr;
        private final List<Thread> hooks = new ArrayList<>();

        synchronized void addHook(String name, Runnable hook) {
            hooks.add(new Thread(hook, name));
        }

        /** What the end of a JVM would run: the console producer flushes its records there. */
        void runHooks() throws InterruptedException {
            List<Thread> started;
            synchronized (this) {
                started = new ArrayList<>(hooks);
                hooks.clear();
            }
            for (Thread hook : started) {
                hook.start();
            }
            for (Thread hook : started) {
                hook.join(HOOK_MILLIS);
            }
        }

        synchronized void exit(int status) {
            if (finalOut != null) {
                return;
            }
            outStream.flush();
            errStream.flush();
            this.status = status;
            finalOut = out.toByteArray();
            finalErr = err.toByteArray();
        }

        synchronized void answer(DataOutputStream to) throws IOException {
            exit(0);
            to.writeInt(status);
            write(to, finalOut);
            write(to, finalErr);
            to.flush();
        }
    }

    private static final long HOOK_MILLIS = 30_000;

    private static volatile Call current;

    public static void main(String[] args) throws IOException, InterruptedException {
        DataInputStream requests = new DataInputStream(System.in);
        DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(System.out));
        Exit.Procedure exit = (status, message) -> {
            current.exit(status);
            throw new Exited();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        Exit.setShutdownHookAdder((name, hook) -> current.addHook(name, hook));
        while (true) {
            String[] words;
            byte[] input;
            try {
                words = new String[requests.readInt()];
                for (int i = 0; i < words.length; i++) {
                    words[i] = new String(read(requests), StandardCharsets.UTF_8);
                }
                input = read(requests);
            } catch (EOFException e) {
                Runtime.getRuntime().halt(0);
                return;
            }
            Call call = new Call();
            current = call;
            System.setIn(new ByteArrayInputStream(input));
            System.setOut(call.outStream);
            System.setErr(call.errStream);
            call(call, words);
            call.runHooks();
            call.answer(answers);
        }
    }

    private static void call(Call call, String[] words) {
        String[] args = new String[words.length - 1];
        System.arraycopy(words, 1, args, 0, args.length);
        try {
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Exited)) { // what Java does with an exception that leaves main
                e.getCause().printStackTrace(call.errStream);
                call.exit(1);
            }
        } catch (ReflectiveOperationException e) {
            e.printStackTrace(call.errStream);
            call.exit(1);
        }
    }

    private static byte[] read(DataInputStream in) throws IOException {
        byte[] data = new byte[in.readInt()];
        in.readFully(data);
        return data;
    }

    private static void write(DataOutputStream out, byte[] data) throws IOException {
        out.writeInt(data.length);
        out.write(data);
    }
}
