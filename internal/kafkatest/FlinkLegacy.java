import java.util.Arrays;
import java.util.Map;
import java.util.Properties;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumer;
import org.apache.flink.streaming.connectors.kafka.KafkaDeserializationSchema;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The source of FlinkLoop's legacy jobs. */
@SuppressWarnings("deprecation")
public final class FlinkLegacy {
    public static SingleOutputStreamOperator<String> source(StreamExecutionEnvironment env, Map<String, String> request) {
        Properties props = new Properties();
        props.setProperty("bootstrap.servers", request.get("bootstrap"));
        props.setProperty("group.id", request.get("group"));
        FlinkKafkaConsumer<String> consumer =
            new FlinkKafkaConsumer<>(Arrays.asList(request.get("topics").split(",")), new Line(), props);
        consumer.setStartFromEarliest();
        return env.addSource(consumer, "Legacy Kafka");
    }

    /** A record as a line. */
    public static final class Line implements KafkaDeserializationSchema<String> {
        private static final long serialVersionUID = 1;

        @Override
        public boolean isEndOfStream(String next) {
            return false;
        }

        @Override
        public String deserialize(ConsumerRecord<byte[], byte[]> r) {
            return FlinkLoop.lineOf(r);
        }

        @Override
        public TypeInformation<String> getProducedType() {
            return Types.STRING;
        }
    }
}
