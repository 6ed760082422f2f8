import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;

import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;

/**
 * Reads one metadata file with Flink's own loader, again and again, and says for each time how long it took, how much of the
 * heap the result holds, and how much was in use at the most: nanoseconds, bytes, bytes, operators and subtasks.
 */
public final class FlinkLoad {
    public static void main(String[] args) throws Exception {
        String path = args[0];
        int runs = Integer.parseInt(args[1]);
        boolean buffered = Boolean.parseBoolean(args[2]); // Flink itself opens the file without a buffer
        for (int i = 0; i < runs; i++) {
            long before = used();
            for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
                pool.resetPeakUsage();
            }
            long start = System.nanoTime();
            CheckpointMetadata m;
            try (InputStream file = new FileInputStream(path);
                    DataInputStream in = new DataInputStream(buffered ? new BufferedInputStream(file, 1 << 20) : file)) {
                m = Checkpoints.loadCheckpointMetadata(in, FlinkLoad.class.getClassLoader(), new java.io.File(path).getParent());
            }
            long took = System.nanoTime() - start;
            long peak = 0;
            for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
                if (pool.getType() == MemoryType.HEAP) {
                    peak += pool.getPeakUsage().getUsed();
                }
            }
            long kept = used() - before;
            int subtasks = 0;
            for (OperatorState o : m.getOperatorStates()) {
                subtasks += o.getStates().size();
            }
            System.out.println(took + "\t" + kept + "\t" + (peak - before) + "\t" + m.getOperatorStates().size() + "\t" + subtasks);
        }
    }

    private static long used() {
        System.gc();
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
