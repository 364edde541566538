// Times primitives on the JVM, and the field arithmetic of the published story, and prints one JSON object a line.
// Run by `java [-Dfield=…] Runner.java MODE …`; the protocol and its known flaws are in README.md.

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.*;
import java.security.interfaces.*;
import java.security.spec.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Callable;
import javax.crypto.*;
import javax.crypto.spec.*;

public class Runner {
    static final int PROTOCOL = 1;

    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        if (options.mode.equals("time")) Time.run(options);
        else if (options.mode.equals("check")) Ladder.check();
        else if (options.mode.equals("count")) Story.count();
        else if (options.mode.equals("dose")) Story.dose(options);
        else if (options.mode.equals("profile")) Story.profile(options);
        else throw new IllegalArgumentException("mode " + options.mode + ": expected time, check, count, dose or profile");
        Json.line("type", "end");
    }
}

/** The command line: a mode, then `--name value` pairs. */
class Options {
    final String mode;
    private final Map<String, String> values = new HashMap<>();

    Options(String[] args) {
        if (args.length % 2 != 1) throw new IllegalArgumentException("expected: MODE [--name value]…");
        mode = args[0];
        for (int i = 1; i < args.length; i += 2) {
            if (!args[i].startsWith("--")) throw new IllegalArgumentException(args[i] + ": expected --name");
            values.put(args[i].substring(2), args[i + 1]);
        }
    }

    String text(String name) {
        String value = values.get(name);
        if (value == null) throw new IllegalArgumentException("--" + name + " is missing");
        return value;
    }

    String text(String name, String otherwise) { return values.getOrDefault(name, otherwise); }

    long number(String name, long otherwise) {
        String value = values.get(name);
        return value == null ? otherwise : Long.parseLong(value);
    }
}

/** Writes one flat JSON object a line: strings, numbers, booleans, arrays of numbers and strings. */
class Json {
    static void line(Object... pairs) {
        StringBuilder out = new StringBuilder("{");
        for (int i = 0; i < pairs.length; i += 2) {
            if (i > 0) out.append(',');
            quote(out, (String) pairs[i]);
            out.append(':');
            value(out, pairs[i + 1]);
        }
        System.out.println(out.append('}'));
        System.out.flush();
    }

    private static void value(StringBuilder out, Object value) {
        if (value instanceof String) quote(out, (String) value);
        else if (value instanceof long[]) {
            out.append('[');
            long[] numbers = (long[]) value;
            for (int i = 0; i < numbers.length; i++) out.append(i > 0 ? "," : "").append(numbers[i]);
            out.append(']');
        } else if (value instanceof List) {
            out.append('[');
            List<?> items = (List<?>) value;
            for (int i = 0; i < items.size(); i++) {
                if (i > 0) out.append(',');
                value(out, items.get(i));
            }
            out.append(']');
        } else out.append(value);
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 0x20) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }
}

/** Fingerprint of outputs, as on the other runtimes: FNV-1a over 8-byte words, the last padded with its length. */
class Digest {
    static final long START = 0xcbf29ce484222325L;

    static long with(long hash, byte[] bytes) {
        int at = 0;
        for (; at + 8 <= bytes.length; at += 8) {
            long word = 0;
            for (int i = 7; i >= 0; i--) word = word << 8 | bytes[at + i] & 0xff;
            hash = fold(hash, word);
        }
        long last = (long) (bytes.length - at) << 56;
        for (int i = at; i < bytes.length; i++) last |= (bytes[i] & 0xffL) << 8 * (i - at);
        return fold(hash, last);
    }

    /** The fingerprint of a sequence continued by the fingerprint of its next item; it starts at zero. */
    static long chain(long hash, long item) { return fold(fold(hash, item), 0); }

    private static long fold(long hash, long word) {
        long product = (hash ^ word) * 0x100000001b3L;
        return product ^ product >>> 32;
    }
}

/** A primitive: bytes in, bytes out. The arrays of one input are in the order of the inputs file. */
interface Primitive {
    byte[] run(byte[][] input) throws Exception;
}

/** Warms a body up until it is stable, then times and counts its allocation on this thread. */
class Measure {
    static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final long QUANTUM_NS = 60_000_000;
    private static final int STABLE_QUANTA = 3;
    private static final double STABLE_WITHIN = 0.03;
    /** So many iterations, timed one by one, give a 99 % quantile with a symmetric interval. */
    private static final int SINGLE_SAMPLES = 368;
    /** No row takes longer than this and four times its budget, however busy the machine is. */
    private static final long ROW_LIMIT_NS = 20_000_000_000L;

    static long cpu() { return THREADS.getCurrentThreadCpuTime(); }

    private static long jit() { return ManagementFactory.getCompilationMXBean().getTotalCompilationTime(); }

    /** What the warm-up did: iterations, quanta, and whether the last quanta agreed. */
    static class Warm {
        long iterations;
        long quanta;
        long medianNs;
        boolean stable;
    }

    /** Runs `body` until three quanta in a row have medians within 3 % and the compilers were idle, or the limit. */
    static Warm warmUp(Runnable body, long limitNs) {
        Warm warm = new Warm();
        Deque<Long> medians = new ArrayDeque<>();
        long begin = System.nanoTime();
        while (!warm.stable && System.nanoTime() - begin < limitNs) {
            long compiled = jit();
            long until = System.nanoTime() + QUANTUM_NS;
            long[] times = new long[64];
            int n = 0;
            while (System.nanoTime() < until) {
                long at = cpu();
                body.run();
                times[n++ & 63] = cpu() - at;
            }
            warm.iterations += n;
            warm.quanta++;
            long[] sorted = Arrays.copyOf(times, Math.min(n, 64));
            Arrays.sort(sorted);
            warm.medianNs = Math.max(1, sorted[sorted.length / 2]);
            if (jit() - compiled > 2) medians.clear();
            medians.addLast(warm.medianNs);
            if (medians.size() > STABLE_QUANTA) medians.removeFirst();
            warm.stable = medians.size() == STABLE_QUANTA
                && Collections.max(medians) <= Collections.min(medians) * (1 + STABLE_WITHIN);
        }
        return warm;
    }

    /** Times one row and prints it. */
    static void row(String name, String implementation, Callable<Primitive> maker, List<byte[][]> pool, long budgetNs) throws Exception {
        Primitive primitive = maker.call();
        long outputs = 0;
        for (byte[][] input : pool) outputs = Digest.chain(outputs, Digest.with(Digest.START, primitive.run(input)));
        int[] next = {0};
        byte[][] held = new byte[1 << 12][];
        int[] batch = {1};
        Runnable body = () -> {
            try {
                for (int i = 0; i < batch[0]; i++) {
                    held[i] = primitive.run(pool.get(next[0]));
                    if (++next[0] == pool.size()) next[0] = 0;
                }
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        };
        // Who asks for little time has little patience; `warm_stable` says whether it was enough.
        long patience = Math.max(1_000_000_000L, Math.min(5_000_000_000L, 25 * budgetNs));
        Warm warm = warmUp(body, patience);
        // An interval below 100 µs would hold too much of the clock, which costs about a microsecond a window here.
        if (warm.medianNs < 100_000) {
            batch[0] = (int) Math.min(held.length, 1 + 1_000_000 / warm.medianNs);
            Warm again = warmUp(body, patience / 2);
            warm.stable = again.stable;
            warm.quanta += again.quanta;
            warm.iterations += again.iterations * batch[0];
        }
        List<Object> samples = new ArrayList<>();
        // The budget is time on the clock: wall time would leave a busy machine too few samples for the quantiles.
        int fewest = batch[0] == 1 ? SINGLE_SAMPLES : 8;
        long begin = System.nanoTime();
        long spent = 0;
        long done = 0;
        while ((spent < budgetNs || samples.size() < fewest) && samples.size() < 20_000
                && (samples.size() < 8 || System.nanoTime() - begin < ROW_LIMIT_NS + 4 * budgetNs)) {
            int from = next[0];
            long wall = System.nanoTime();
            long at = cpu();
            body.run();
            long cpuNs = cpu() - at;
            long wallNs = System.nanoTime() - wall;
            samples.add(new long[] {batch[0], cpuNs, wallNs});
            spent += cpuNs;
            // One output of each interval is checked against a fresh computation outside the clock, by another instance:
            // a cipher of the JDK refuses to seal twice in a row with one nonce.
            int index = from % pool.size();
            if (!Arrays.equals(held[0], maker.call().run(pool.get(index)))) throw new IllegalStateException("output changed");
            done += batch[0];
        }
        long rounds = Math.max(1, Math.min(256, done / 2) / batch[0]);
        long empty = THREADS.getCurrentThreadAllocatedBytes();
        empty = THREADS.getCurrentThreadAllocatedBytes() - empty;
        long bytes = THREADS.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < rounds; i++) body.run();
        bytes = THREADS.getCurrentThreadAllocatedBytes() - bytes - empty;
        Json.line("type", "row", "name", name, "implementation", implementation,
            "warm_iterations", warm.iterations, "warm_quanta", warm.quanta, "warm_stable", warm.stable,
            "pool", pool.size(), "outputs", String.format("%016x", outputs), "samples", samples,
            "allocation_iterations", rounds * batch[0], "allocation_bytes", bytes);
    }
}

/** Mode `time`: the JDK's own primitives on given inputs, or the pure-Java ladder where `-Dfield` is set. */
class Time {
    static void run(Options options) throws Exception {
        start();
        Map<String, List<byte[][]>> inputs = read(Path.of(options.text("inputs")));
        long budget = options.number("millis", 300) * 1_000_000;
        List<String> names = new ArrayList<>(inputs.keySet());
        Collections.shuffle(names, new Random(options.number("seed", 0)));
        for (String name : names) {
            String kind = name.split("/")[0];
            try {
                Callable<Primitive> maker = () -> Variant.SET ? Ladder.primitive(kind) : Jdk.primitive(kind);
                if (maker.call() == null) Json.line("type", "skip", "name", name, "message", "the JDK has no public " + kind);
                else Measure.row(name, Variant.SET ? Variant.name() : Jdk.NAME, maker, inputs.get(name), budget);
            } catch (Exception error) {
                Json.line("type", "error", "name", name, "message", String.valueOf(error));
            }
        }
    }

    /** What this process is: version, virtual machine, collectors, flags. */
    static void start() {
        List<Object> collectors = new ArrayList<>();
        ManagementFactory.getGarbageCollectorMXBeans().forEach(bean -> collectors.add(bean.getName()));
        List<Object> flags = new ArrayList<>(ManagementFactory.getRuntimeMXBean().getInputArguments());
        Json.line("type", "start", "protocol", Runner.PROTOCOL, "java", System.getProperty("java.version"),
            "vm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"),
            "processors", Runtime.getRuntime().availableProcessors(), "collectors", collectors, "flags", flags,
            "variant", Variant.SET ? Variant.name() : Jdk.NAME);
    }

    /** Lines of a row's name and the hexadecimal byte strings of one input, separated by tabs. */
    private static Map<String, List<byte[][]>> read(Path file) throws IOException {
        Map<String, List<byte[][]>> inputs = new LinkedHashMap<>();
        int number = 0;
        for (String line : Files.readAllLines(file)) {
            number++;
            String[] fields = line.split("\t", -1);
            byte[][] input = new byte[fields.length - 1][];
            try {
                for (int i = 1; i < fields.length; i++) input[i - 1] = HexFormat.of().parseHex(fields[i]);
            } catch (IllegalArgumentException error) {
                throw new IOException(file + ":" + number + ": " + error.getMessage() + ", expected hexadecimal fields");
            }
            inputs.computeIfAbsent(fields[0], name -> new ArrayList<>()).add(input);
        }
        return inputs;
    }
}

/** The JDK's primitives. Factories are made once; keys are decoded inside, as the native ones decode theirs. */
class Jdk {
    static final String NAME = "JDK " + System.getProperty("java.version");

    static Primitive primitive(String kind) throws GeneralSecurityException {
        switch (kind) {
            case "x25519_dh": return dh();
            case "x25519_base": return base();
            case "ed25519_keygen": return keygen();
            case "ed25519_sign": return sign();
            case "ed25519_verify": return verify();
            case "sha256": return digest("SHA-256");
            case "sha512": return digest("SHA-512");
            case "hmac_sha256": case "hkdf_sha256_extract": return hmac();
            case "hkdf_sha256_expand": return expand();
            case "aes128gcm_seal": return aead("AES/GCM/NoPadding", "AES", Cipher.ENCRYPT_MODE);
            case "aes128gcm_open": return aead("AES/GCM/NoPadding", "AES", Cipher.DECRYPT_MODE);
            case "chacha20poly1305_seal": return aead("ChaCha20-Poly1305", "ChaCha20", Cipher.ENCRYPT_MODE);
            case "chacha20poly1305_open": return aead("ChaCha20-Poly1305", "ChaCha20", Cipher.DECRYPT_MODE);
            default: return null;
        }
    }

    /** Secret key, public key → shared secret. */
    private static Primitive dh() throws GeneralSecurityException {
        KeyFactory keys = KeyFactory.getInstance("X25519");
        KeyAgreement agreement = KeyAgreement.getInstance("X25519");
        return input -> {
            agreement.init(keys.generatePrivate(new XECPrivateKeySpec(NamedParameterSpec.X25519, input[0])));
            byte[] u = reversed(input[1]);
            u[0] &= 0x7f;
            agreement.doPhase(keys.generatePublic(new XECPublicKeySpec(NamedParameterSpec.X25519, new BigInteger(1, u))), true);
            return agreement.generateSecret();
        };
    }

    /** Secret key → public key, by the generator fed with the secret key as its randomness. */
    private static Primitive base() throws GeneralSecurityException {
        Given random = new Given();
        KeyPairGenerator generator = KeyPairGenerator.getInstance("X25519");
        generator.initialize(NamedParameterSpec.X25519, random);
        return input -> {
            random.bytes = input[0];
            return littleEndian(((XECPublicKey) generator.generateKeyPair().getPublic()).getU());
        };
    }

    /** Seed → public key. */
    private static Primitive keygen() throws GeneralSecurityException {
        Given random = new Given();
        KeyPairGenerator generator = KeyPairGenerator.getInstance("Ed25519");
        generator.initialize(NamedParameterSpec.ED25519, random);
        return input -> {
            random.bytes = input[0];
            EdECPoint point = ((EdECPublicKey) generator.generateKeyPair().getPublic()).getPoint();
            byte[] bytes = littleEndian(point.getY());
            if (point.isXOdd()) bytes[31] |= (byte) 0x80;
            return bytes;
        };
    }

    /** Seed, message → signature. */
    private static Primitive sign() throws GeneralSecurityException {
        KeyFactory keys = KeyFactory.getInstance("Ed25519");
        Signature signature = Signature.getInstance("Ed25519");
        return input -> {
            signature.initSign(keys.generatePrivate(new EdECPrivateKeySpec(NamedParameterSpec.ED25519, input[0])));
            signature.update(input[1]);
            return signature.sign();
        };
    }

    /** Public key, message, signature → 1 where it is valid, else 0. */
    private static Primitive verify() throws GeneralSecurityException {
        KeyFactory keys = KeyFactory.getInstance("Ed25519");
        Signature signature = Signature.getInstance("Ed25519");
        return input -> {
            byte[] y = reversed(input[0]);
            boolean odd = (y[0] & 0x80) != 0;
            y[0] &= 0x7f;
            EdECPoint point = new EdECPoint(odd, new BigInteger(1, y));
            signature.initVerify(keys.generatePublic(new EdECPublicKeySpec(NamedParameterSpec.ED25519, point)));
            signature.update(input[1]);
            return new byte[] {(byte) (signature.verify(input[2]) ? 1 : 0)};
        };
    }

    private static Primitive digest(String algorithm) throws GeneralSecurityException {
        MessageDigest digest = MessageDigest.getInstance(algorithm);
        return input -> digest.digest(input[0]);
    }

    /** Key, message → authentication code. */
    private static Primitive hmac() throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        return input -> {
            mac.init(new SecretKeySpec(input[0].length == 0 ? new byte[32] : input[0], "HmacSHA256"));
            return mac.doFinal(input[1]);
        };
    }

    /** Pseudo-random key, info → 32 bytes of output (RFC 5869, by the JDK's HMAC). */
    private static Primitive expand() throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        return input -> {
            mac.init(new SecretKeySpec(input[0], "HmacSHA256"));
            byte[] output = new byte[32];
            byte[] block = new byte[0];
            for (int at = 0, counter = 1; at < output.length; at += 32, counter++) {
                mac.update(block);
                mac.update(input[1]);
                mac.update((byte) counter);
                block = mac.doFinal();
                System.arraycopy(block, 0, output, at, Math.min(32, output.length - at));
            }
            return output;
        };
    }

    /** Key, nonce, associated data, message → message with tag, or back. */
    private static Primitive aead(String transformation, String key, int mode) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(transformation);
        boolean gcm = key.equals("AES");
        return input -> {
            AlgorithmParameterSpec nonce = gcm ? new GCMParameterSpec(128, input[1]) : new IvParameterSpec(input[1]);
            cipher.init(mode, new SecretKeySpec(input[0], key), nonce);
            cipher.updateAAD(input[2]);
            return cipher.doFinal(input[3]);
        };
    }

    /** Randomness that is given: the generators read their secret from it. */
    private static class Given extends SecureRandom {
        transient byte[] bytes;

        @Override
        public void nextBytes(byte[] out) { System.arraycopy(bytes, 0, out, 0, out.length); }
    }

    private static byte[] reversed(byte[] bytes) {
        byte[] out = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) out[i] = bytes[bytes.length - 1 - i];
        return out;
    }

    private static byte[] littleEndian(BigInteger value) {
        byte[] big = value.toByteArray();
        byte[] out = new byte[32];
        for (int i = 0; i < Math.min(32, big.length); i++) out[i] = big[big.length - 1 - i];
        return out;
    }
}

/** Which field runs, fixed for the process so that the compiler sees constants: one variant, one fresh JVM. */
class Variant {
    static final String FIELD = System.getProperty("field");
    static final boolean SET = FIELD != null;
    static final boolean TEN = one("field", "16", "10");
    static final boolean STRAIGHT = one("product", "loop", "straight");
    static final boolean SYMMETRIC = one("square", "product", "symmetric");
    static final boolean ALLOCATING = one("memory", "in-place", "allocating");
    static final String CARRY = System.getProperty("carry", "branch");
    static final boolean PEELED = CARRY.equals("peeled");
    static final boolean REGISTER = CARRY.equals("register");
    static final boolean COUNTING = System.getProperty("counting") != null;

    static {
        if (!PEELED && !REGISTER && !CARRY.equals("branch"))
            throw new IllegalArgumentException("-Dcarry=" + CARRY + ": expected branch, peeled or register");
    }

    private static boolean one(String name, String off, String on) {
        String value = System.getProperty(name, off);
        if (!value.equals(off) && !value.equals(on))
            throw new IllegalArgumentException("-D" + name + "=" + value + ": expected " + off + " or " + on);
        return value.equals(on);
    }

    static String name() {
        String square = SYMMETRIC ? ", symmetric square" : "";
        String memory = ALLOCATING ? ", allocating" : "";
        if (TEN) return "Java 10 limbs, straight product" + square + memory;
        return "Java 16 limbs, " + (STRAIGHT ? "straight" : "loop") + " product, " + CARRY + " carry" + square + memory;
    }
}

/** The field modulo 2^255 − 19 in 16 limbs of 16 bits, or 10 of 25 and 26 bits, chosen by {@link Variant}. */
class Field {
    static final int LIMBS = Variant.TEN ? 10 : 16;
    private static final long[] WIDE = new long[31];
    private static final long[] SINK = new long[31];

    /** Extra executions of product and carry at each multiplication and squaring: the dose. */
    static int doseProduct;
    static int doseCarry;
    static long products;
    static long squares;
    static long carries;

    static long[] out(long[] place) { return Variant.ALLOCATING ? new long[LIMBS] : place; }

    static long[] add(long[] place, long[] a, long[] b) {
        long[] o = out(place);
        for (int i = 0; i < LIMBS; i++) o[i] = a[i] + b[i];
        return o;
    }

    static long[] subtract(long[] place, long[] a, long[] b) {
        long[] o = out(place);
        for (int i = 0; i < LIMBS; i++) o[i] = a[i] - b[i];
        return o;
    }

    static long[] multiply(long[] place, long[] a, long[] b) {
        for (int i = 0; i < doseProduct; i++) product(SINK, a, b);
        if (Variant.COUNTING) products++;
        if (Variant.STRAIGHT && !Variant.TEN) {
            long[] o = out(place);
            Straight.multiply(o, a, b);
            return o;
        }
        long[] wide = Variant.ALLOCATING ? new long[31] : WIDE;
        product(wide, a, b);
        return reduce(out(place), wide);
    }

    static long[] square(long[] place, long[] a) {
        if (!Variant.SYMMETRIC) return multiply(place, a, a);
        long[] wide = Variant.ALLOCATING ? new long[31] : WIDE;
        for (int i = 0; i < doseProduct; i++) symmetric(SINK, a);
        symmetric(wide, a);
        if (Variant.COUNTING) squares++;
        return reduce(out(place), wide);
    }

    private static long[] reduce(long[] o, long[] wide) {
        if (Variant.TEN) {
            Ten.carry(o, wide);
            for (int i = 0; i < doseCarry; i++) Ten.carry(SINK, wide);
            if (Variant.COUNTING) carries++;
            return o;
        }
        for (int i = 0; i < 15; i++) o[i] = wide[i] + 38 * wide[i + 16];
        o[15] = wide[15];
        settle(o);
        return o;
    }

    /** Two carries bring every limb back to 16 bits and a little; the dose adds to them and changes no value. */
    static void settle(long[] o) {
        carry(o);
        carry(o);
        for (int i = 0; i < doseCarry; i++) carry(o);
        if (Variant.COUNTING) carries += 2;
    }

    private static void product(long[] t, long[] a, long[] b) {
        if (Variant.TEN) Ten.product(t, a, b);
        else if (Variant.STRAIGHT) Straight.product(t, a, b);
        else productLoop(t, a, b);
    }

    private static void symmetric(long[] t, long[] a) {
        if (Variant.TEN) Ten.square(t, a);
        else if (Variant.STRAIGHT) Straight.square(t, a);
        else squareLoop(t, a);
    }

    static void carry(long[] o) {
        if (Variant.PEELED) carryPeeled(o);
        else if (Variant.REGISTER) carryRegister(o);
        else carryBranch(o);
    }

    /** The published form: a modulo and a branch in every step. */
    static void carryBranch(long[] o) {
        for (int i = 0; i < 16; i++) {
            o[i] += 1 << 16;
            long c = o[i] >> 16;
            o[(i + 1) % 16] += c - 1 + (i == 15 ? 37 * (c - 1) : 0);
            o[i] -= c << 16;
        }
    }

    /** The rewrite: the last step peeled off, so that neither modulo nor branch is left. */
    static void carryPeeled(long[] o) {
        for (int i = 0; i < 15; i++) {
            o[i] += 1 << 16;
            long c = o[i] >> 16;
            o[i + 1] += c - 1;
            o[i] -= c << 16;
        }
        o[15] += 1 << 16;
        long c = o[15] >> 16;
        o[0] += 38 * (c - 1);
        o[15] -= c << 16;
    }

    /** The rewrite with the carry kept in a register from step to step. */
    static void carryRegister(long[] o) {
        long c = 0;
        for (int i = 0; i < 16; i++) {
            long v = o[i] + c;
            c = v >> 16;
            o[i] = v - (c << 16);
        }
        o[0] += 38 * c;
    }

    static void productLoop(long[] t, long[] a, long[] b) {
        for (int i = 0; i < 31; i++) t[i] = 0;
        for (int i = 0; i < 16; i++) {
            for (int j = 0; j < 16; j++) t[i + j] += a[i] * b[j];
        }
    }

    static void squareLoop(long[] t, long[] a) {
        for (int i = 0; i < 31; i++) t[i] = 0;
        for (int i = 0; i < 16; i++) {
            t[2 * i] += a[i] * a[i];
            long twice = 2 * a[i];
            for (int j = i + 1; j < 16; j++) t[i + j] += twice * a[j];
        }
    }

    static long[] unpack(byte[] bytes) {
        long[] o = new long[LIMBS];
        if (Variant.TEN) Ten.unpack(o, bytes);
        else for (int i = 0; i < 16; i++) o[i] = (bytes[2 * i] & 0xff) + ((long) (bytes[2 * i + 1] & 0xff) << 8);
        if (!Variant.TEN) o[15] &= 0x7fff;
        return o;
    }

    static byte[] pack(long[] a) {
        BigInteger value = BigInteger.ZERO;
        for (int i = LIMBS - 1; i >= 0; i--) {
            value = value.add(BigInteger.valueOf(a[i]).shiftLeft(Variant.TEN ? (51 * i + 1) / 2 : 16 * i));
        }
        byte[] big = value.mod(BigInteger.ONE.shiftLeft(255).subtract(BigInteger.valueOf(19))).toByteArray();
        byte[] out = new byte[32];
        for (int i = 0; i < Math.min(32, big.length); i++) out[i] = big[big.length - 1 - i];
        return out;
    }
}

/** The 16-limb product and square written out: no loop, so no safepoint poll inside. */
class Straight {
    /** Product, fold and carries in one method, so that one piece of machine code holds them all. */
    static void multiply(long[] o, long[] a, long[] b) {
        long a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
        long a8 = a[8], a9 = a[9], a10 = a[10], a11 = a[11], a12 = a[12], a13 = a[13], a14 = a[14], a15 = a[15];
        long b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5], b6 = b[6], b7 = b[7];
        long b8 = b[8], b9 = b[9], b10 = b[10], b11 = b[11], b12 = b[12], b13 = b[13], b14 = b[14], b15 = b[15];
        o[0] = a0 * b0 + 38 * (a1 * b15 + a2 * b14 + a3 * b13 + a4 * b12 + a5 * b11 + a6 * b10 + a7 * b9 + a8 * b8
                + a9 * b7 + a10 * b6 + a11 * b5 + a12 * b4 + a13 * b3 + a14 * b2 + a15 * b1);
        o[1] = a0 * b1 + a1 * b0 + 38 * (a2 * b15 + a3 * b14 + a4 * b13 + a5 * b12 + a6 * b11 + a7 * b10 + a8 * b9
                + a9 * b8 + a10 * b7 + a11 * b6 + a12 * b5 + a13 * b4 + a14 * b3 + a15 * b2);
        o[2] = a0 * b2 + a1 * b1 + a2 * b0 + 38 * (a3 * b15 + a4 * b14 + a5 * b13 + a6 * b12 + a7 * b11 + a8 * b10
                + a9 * b9 + a10 * b8 + a11 * b7 + a12 * b6 + a13 * b5 + a14 * b4 + a15 * b3);
        o[3] = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 + 38 * (a4 * b15 + a5 * b14 + a6 * b13 + a7 * b12 + a8 * b11
                + a9 * b10 + a10 * b9 + a11 * b8 + a12 * b7 + a13 * b6 + a14 * b5 + a15 * b4);
        o[4] = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0 + 38 * (a5 * b15 + a6 * b14 + a7 * b13 + a8 * b12 + a9 * b11
                + a10 * b10 + a11 * b9 + a12 * b8 + a13 * b7 + a14 * b6 + a15 * b5);
        o[5] = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0 + 38 * (a6 * b15 + a7 * b14 + a8 * b13 + a9 * b12
                + a10 * b11 + a11 * b10 + a12 * b9 + a13 * b8 + a14 * b7 + a15 * b6);
        o[6] = a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0 + 38 * (a7 * b15 + a8 * b14 + a9 * b13
                + a10 * b12 + a11 * b11 + a12 * b10 + a13 * b9 + a14 * b8 + a15 * b7);
        o[7] = a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0 + 38 * (a8 * b15 + a9 * b14
                + a10 * b13 + a11 * b12 + a12 * b11 + a13 * b10 + a14 * b9 + a15 * b8);
        o[8] = a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0 + 38 * (a9 * b15
                + a10 * b14 + a11 * b13 + a12 * b12 + a13 * b11 + a14 * b10 + a15 * b9);
        o[9] = a0 * b9 + a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1 + a9 * b0
                + 38 * (a10 * b15 + a11 * b14 + a12 * b13 + a13 * b12 + a14 * b11 + a15 * b10);
        o[10] = a0 * b10 + a1 * b9 + a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2 + a9 * b1
                + a10 * b0 + 38 * (a11 * b15 + a12 * b14 + a13 * b13 + a14 * b12 + a15 * b11);
        o[11] = a0 * b11 + a1 * b10 + a2 * b9 + a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3 + a9 * b2
                + a10 * b1 + a11 * b0 + 38 * (a12 * b15 + a13 * b14 + a14 * b13 + a15 * b12);
        o[12] = a0 * b12 + a1 * b11 + a2 * b10 + a3 * b9 + a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4 + a9 * b3
                + a10 * b2 + a11 * b1 + a12 * b0 + 38 * (a13 * b15 + a14 * b14 + a15 * b13);
        o[13] = a0 * b13 + a1 * b12 + a2 * b11 + a3 * b10 + a4 * b9 + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5 + a9 * b4
                + a10 * b3 + a11 * b2 + a12 * b1 + a13 * b0 + 38 * (a14 * b15 + a15 * b14);
        o[14] = a0 * b14 + a1 * b13 + a2 * b12 + a3 * b11 + a4 * b10 + a5 * b9 + a6 * b8 + a7 * b7 + a8 * b6 + a9 * b5
                + a10 * b4 + a11 * b3 + a12 * b2 + a13 * b1 + a14 * b0 + 38 * (a15 * b15);
        o[15] = a0 * b15 + a1 * b14 + a2 * b13 + a3 * b12 + a4 * b11 + a5 * b10 + a6 * b9 + a7 * b8 + a8 * b7 + a9 * b6
                + a10 * b5 + a11 * b4 + a12 * b3 + a13 * b2 + a14 * b1 + a15 * b0;
        Field.settle(o);
    }

    /** The product alone, for the dose. */
    static void product(long[] t, long[] a, long[] b) {
        long a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
        long a8 = a[8], a9 = a[9], a10 = a[10], a11 = a[11], a12 = a[12], a13 = a[13], a14 = a[14], a15 = a[15];
        long b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5], b6 = b[6], b7 = b[7];
        long b8 = b[8], b9 = b[9], b10 = b[10], b11 = b[11], b12 = b[12], b13 = b[13], b14 = b[14], b15 = b[15];
        t[0] = a0 * b0;
        t[1] = a0 * b1 + a1 * b0;
        t[2] = a0 * b2 + a1 * b1 + a2 * b0;
        t[3] = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
        t[4] = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0;
        t[5] = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0;
        t[6] = a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0;
        t[7] = a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0;
        t[8] = a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0;
        t[9] = a0 * b9 + a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1 + a9 * b0;
        t[10] = a0 * b10 + a1 * b9 + a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2 + a9 * b1 + a10 * b0;
        t[11] = a0 * b11 + a1 * b10 + a2 * b9 + a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3 + a9 * b2 + a10 * b1
                + a11 * b0;
        t[12] = a0 * b12 + a1 * b11 + a2 * b10 + a3 * b9 + a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4 + a9 * b3 + a10 * b2
                + a11 * b1 + a12 * b0;
        t[13] = a0 * b13 + a1 * b12 + a2 * b11 + a3 * b10 + a4 * b9 + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5 + a9 * b4 + a10 * b3
                + a11 * b2 + a12 * b1 + a13 * b0;
        t[14] = a0 * b14 + a1 * b13 + a2 * b12 + a3 * b11 + a4 * b10 + a5 * b9 + a6 * b8 + a7 * b7 + a8 * b6 + a9 * b5
                + a10 * b4 + a11 * b3 + a12 * b2 + a13 * b1 + a14 * b0;
        t[15] = a0 * b15 + a1 * b14 + a2 * b13 + a3 * b12 + a4 * b11 + a5 * b10 + a6 * b9 + a7 * b8 + a8 * b7 + a9 * b6
                + a10 * b5 + a11 * b4 + a12 * b3 + a13 * b2 + a14 * b1 + a15 * b0;
        t[16] = a1 * b15 + a2 * b14 + a3 * b13 + a4 * b12 + a5 * b11 + a6 * b10 + a7 * b9 + a8 * b8 + a9 * b7 + a10 * b6
                + a11 * b5 + a12 * b4 + a13 * b3 + a14 * b2 + a15 * b1;
        t[17] = a2 * b15 + a3 * b14 + a4 * b13 + a5 * b12 + a6 * b11 + a7 * b10 + a8 * b9 + a9 * b8 + a10 * b7 + a11 * b6
                + a12 * b5 + a13 * b4 + a14 * b3 + a15 * b2;
        t[18] = a3 * b15 + a4 * b14 + a5 * b13 + a6 * b12 + a7 * b11 + a8 * b10 + a9 * b9 + a10 * b8 + a11 * b7 + a12 * b6
                + a13 * b5 + a14 * b4 + a15 * b3;
        t[19] = a4 * b15 + a5 * b14 + a6 * b13 + a7 * b12 + a8 * b11 + a9 * b10 + a10 * b9 + a11 * b8 + a12 * b7 + a13 * b6
                + a14 * b5 + a15 * b4;
        t[20] = a5 * b15 + a6 * b14 + a7 * b13 + a8 * b12 + a9 * b11 + a10 * b10 + a11 * b9 + a12 * b8 + a13 * b7 + a14 * b6
                + a15 * b5;
        t[21] = a6 * b15 + a7 * b14 + a8 * b13 + a9 * b12 + a10 * b11 + a11 * b10 + a12 * b9 + a13 * b8 + a14 * b7 + a15 * b6;
        t[22] = a7 * b15 + a8 * b14 + a9 * b13 + a10 * b12 + a11 * b11 + a12 * b10 + a13 * b9 + a14 * b8 + a15 * b7;
        t[23] = a8 * b15 + a9 * b14 + a10 * b13 + a11 * b12 + a12 * b11 + a13 * b10 + a14 * b9 + a15 * b8;
        t[24] = a9 * b15 + a10 * b14 + a11 * b13 + a12 * b12 + a13 * b11 + a14 * b10 + a15 * b9;
        t[25] = a10 * b15 + a11 * b14 + a12 * b13 + a13 * b12 + a14 * b11 + a15 * b10;
        t[26] = a11 * b15 + a12 * b14 + a13 * b13 + a14 * b12 + a15 * b11;
        t[27] = a12 * b15 + a13 * b14 + a14 * b13 + a15 * b12;
        t[28] = a13 * b15 + a14 * b14 + a15 * b13;
        t[29] = a14 * b15 + a15 * b14;
        t[30] = a15 * b15;
    }

    static void square(long[] t, long[] a) {
        long a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
        long a8 = a[8], a9 = a[9], a10 = a[10], a11 = a[11], a12 = a[12], a13 = a[13], a14 = a[14], a15 = a[15];
        t[0] = a0 * a0;
        t[1] = 2 * (a0 * a1);
        t[2] = a1 * a1 + 2 * (a0 * a2);
        t[3] = 2 * (a0 * a3 + a1 * a2);
        t[4] = a2 * a2 + 2 * (a0 * a4 + a1 * a3);
        t[5] = 2 * (a0 * a5 + a1 * a4 + a2 * a3);
        t[6] = a3 * a3 + 2 * (a0 * a6 + a1 * a5 + a2 * a4);
        t[7] = 2 * (a0 * a7 + a1 * a6 + a2 * a5 + a3 * a4);
        t[8] = a4 * a4 + 2 * (a0 * a8 + a1 * a7 + a2 * a6 + a3 * a5);
        t[9] = 2 * (a0 * a9 + a1 * a8 + a2 * a7 + a3 * a6 + a4 * a5);
        t[10] = a5 * a5 + 2 * (a0 * a10 + a1 * a9 + a2 * a8 + a3 * a7 + a4 * a6);
        t[11] = 2 * (a0 * a11 + a1 * a10 + a2 * a9 + a3 * a8 + a4 * a7 + a5 * a6);
        t[12] = a6 * a6 + 2 * (a0 * a12 + a1 * a11 + a2 * a10 + a3 * a9 + a4 * a8 + a5 * a7);
        t[13] = 2 * (a0 * a13 + a1 * a12 + a2 * a11 + a3 * a10 + a4 * a9 + a5 * a8 + a6 * a7);
        t[14] = a7 * a7 + 2 * (a0 * a14 + a1 * a13 + a2 * a12 + a3 * a11 + a4 * a10 + a5 * a9 + a6 * a8);
        t[15] = 2 * (a0 * a15 + a1 * a14 + a2 * a13 + a3 * a12 + a4 * a11 + a5 * a10 + a6 * a9 + a7 * a8);
        t[16] = a8 * a8 + 2 * (a1 * a15 + a2 * a14 + a3 * a13 + a4 * a12 + a5 * a11 + a6 * a10 + a7 * a9);
        t[17] = 2 * (a2 * a15 + a3 * a14 + a4 * a13 + a5 * a12 + a6 * a11 + a7 * a10 + a8 * a9);
        t[18] = a9 * a9 + 2 * (a3 * a15 + a4 * a14 + a5 * a13 + a6 * a12 + a7 * a11 + a8 * a10);
        t[19] = 2 * (a4 * a15 + a5 * a14 + a6 * a13 + a7 * a12 + a8 * a11 + a9 * a10);
        t[20] = a10 * a10 + 2 * (a5 * a15 + a6 * a14 + a7 * a13 + a8 * a12 + a9 * a11);
        t[21] = 2 * (a6 * a15 + a7 * a14 + a8 * a13 + a9 * a12 + a10 * a11);
        t[22] = a11 * a11 + 2 * (a7 * a15 + a8 * a14 + a9 * a13 + a10 * a12);
        t[23] = 2 * (a8 * a15 + a9 * a14 + a10 * a13 + a11 * a12);
        t[24] = a12 * a12 + 2 * (a9 * a15 + a10 * a14 + a11 * a13);
        t[25] = 2 * (a10 * a15 + a11 * a14 + a12 * a13);
        t[26] = a13 * a13 + 2 * (a11 * a15 + a12 * a14);
        t[27] = 2 * (a12 * a15 + a13 * a14);
        t[28] = a14 * a14 + 2 * (a13 * a15);
        t[29] = 2 * (a14 * a15);
        t[30] = a15 * a15;
    }
}

/** The field in 10 limbs, alternately of 26 and 25 bits (radix 2^25.5). */
class Ten {
    static void product(long[] t, long[] a, long[] b) {
        long a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
        long a8 = a[8], a9 = a[9];
        long b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5], b6 = b[6], b7 = b[7];
        long b8 = b[8], b9 = b[9];
        t[0] = a0 * b0 + 19 * (2 * a1 * b9 + a2 * b8 + 2 * a3 * b7 + a4 * b6 + 2 * a5 * b5 + a6 * b4 + 2 * a7 * b3
                + a8 * b2 + 2 * a9 * b1);
        t[1] = a0 * b1 + a1 * b0 + 19 * (a2 * b9 + a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3 + a9 * b2);
        t[2] = a0 * b2 + 2 * a1 * b1 + a2 * b0 + 19 * (2 * a3 * b9 + a4 * b8 + 2 * a5 * b7 + a6 * b6 + 2 * a7 * b5
                + a8 * b4 + 2 * a9 * b3);
        t[3] = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 + 19 * (a4 * b9 + a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5 + a9 * b4);
        t[4] = a0 * b4 + 2 * a1 * b3 + a2 * b2 + 2 * a3 * b1 + a4 * b0 + 19 * (2 * a5 * b9 + a6 * b8 + 2 * a7 * b7
                + a8 * b6 + 2 * a9 * b5);
        t[5] = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0 + 19 * (a6 * b9 + a7 * b8 + a8 * b7 + a9 * b6);
        t[6] = a0 * b6 + 2 * a1 * b5 + a2 * b4 + 2 * a3 * b3 + a4 * b2 + 2 * a5 * b1 + a6 * b0 + 19 * (2 * a7 * b9
                + a8 * b8 + 2 * a9 * b7);
        t[7] = a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0 + 19 * (a8 * b9 + a9 * b8);
        t[8] = a0 * b8 + 2 * a1 * b7 + a2 * b6 + 2 * a3 * b5 + a4 * b4 + 2 * a5 * b3 + a6 * b2 + 2 * a7 * b1 + a8 * b0
                + 19 * (2 * a9 * b9);
        t[9] = a0 * b9 + a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1 + a9 * b0;
    }

    static void square(long[] t, long[] a) {
        long a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
        long a8 = a[8], a9 = a[9];
        t[0] = a0 * a0 + 19 * (4 * a1 * a9 + 2 * a2 * a8 + 4 * a3 * a7 + 2 * a4 * a6 + 2 * a5 * a5);
        t[1] = 2 * a0 * a1 + 19 * (2 * a2 * a9 + 2 * a3 * a8 + 2 * a4 * a7 + 2 * a5 * a6);
        t[2] = 2 * a0 * a2 + 2 * a1 * a1 + 19 * (4 * a3 * a9 + 2 * a4 * a8 + 4 * a5 * a7 + a6 * a6);
        t[3] = 2 * a0 * a3 + 2 * a1 * a2 + 19 * (2 * a4 * a9 + 2 * a5 * a8 + 2 * a6 * a7);
        t[4] = 2 * a0 * a4 + 4 * a1 * a3 + a2 * a2 + 19 * (4 * a5 * a9 + 2 * a6 * a8 + 2 * a7 * a7);
        t[5] = 2 * a0 * a5 + 2 * a1 * a4 + 2 * a2 * a3 + 19 * (2 * a6 * a9 + 2 * a7 * a8);
        t[6] = 2 * a0 * a6 + 4 * a1 * a5 + 2 * a2 * a4 + 2 * a3 * a3 + 19 * (4 * a7 * a9 + a8 * a8);
        t[7] = 2 * a0 * a7 + 2 * a1 * a6 + 2 * a2 * a5 + 2 * a3 * a4 + 19 * (2 * a8 * a9);
        t[8] = 2 * a0 * a8 + 4 * a1 * a7 + 2 * a2 * a6 + 4 * a3 * a5 + a4 * a4 + 19 * (2 * a9 * a9);
        t[9] = 2 * a0 * a9 + 2 * a1 * a8 + 2 * a2 * a7 + 2 * a3 * a6 + 2 * a4 * a5;
    }

    /** Two passes over the limbs, in a register; the result's limbs are within 26 bits and a little. */
    static void carry(long[] o, long[] t) {
        long c = 0;
        for (int i = 0; i < 10; i++) {
            int bits = 26 - (i & 1);
            long v = t[i] + c;
            c = v + (1L << bits - 1) >> bits;
            o[i] = v - (c << bits);
        }
        long v = o[0] + 19 * c;
        c = v + (1L << 25) >> 26;
        o[0] = v - (c << 26);
        o[1] += c;
    }

    static void unpack(long[] o, byte[] bytes) {
        byte[] big = new byte[32];
        for (int i = 0; i < 32; i++) big[i] = bytes[31 - i];
        BigInteger value = new BigInteger(1, big).clearBit(255);
        for (int i = 0; i < 10; i++) {
            int bits = 26 - (i & 1);
            o[i] = value.and(BigInteger.ONE.shiftLeft(bits).subtract(BigInteger.ONE)).longValue();
            value = value.shiftRight(bits);
        }
    }
}

/** X25519 (RFC 7748) on {@link Field}: Montgomery ladder, constant sequence of field operations. */
class Ladder {
    private static final long[] A24 = Field.unpack(littleEndian(121665));

    static Primitive primitive(String kind) {
        if (kind.equals("x25519_dh")) return input -> multiply(input[0], input[1]);
        if (kind.equals("x25519_base")) return input -> multiply(input[0], littleEndian(9));
        return null;
    }

    static byte[] littleEndian(int value) {
        byte[] bytes = new byte[32];
        for (int i = 0; i < 4; i++) bytes[i] = (byte) (value >> 8 * i);
        return bytes;
    }

    static byte[] multiply(byte[] secret, byte[] point) {
        byte[] k = secret.clone();
        k[0] &= (byte) 248;
        k[31] = (byte) (k[31] & 127 | 64);
        long[] x = Field.unpack(point);
        long[] a = new long[Field.LIMBS], c = new long[Field.LIMBS], d = new long[Field.LIMBS];
        long[] e = new long[Field.LIMBS], f = new long[Field.LIMBS], b = x.clone();
        a[0] = d[0] = 1;
        for (int i = 254; i >= 0; i--) {
            long swap = k[i >> 3] >> (i & 7) & 1;
            swap(a, b, swap);
            swap(c, d, swap);
            e = Field.add(e, a, c);
            a = Field.subtract(a, a, c);
            c = Field.add(c, b, d);
            b = Field.subtract(b, b, d);
            d = Field.square(d, e);
            f = Field.square(f, a);
            a = Field.multiply(a, c, a);
            c = Field.multiply(c, b, e);
            e = Field.add(e, a, c);
            a = Field.subtract(a, a, c);
            b = Field.square(b, a);
            c = Field.subtract(c, d, f);
            a = Field.multiply(a, c, A24);
            a = Field.add(a, a, d);
            c = Field.multiply(c, c, a);
            a = Field.multiply(a, d, f);
            d = Field.multiply(d, b, x);
            b = Field.square(b, e);
            swap(a, b, swap);
            swap(c, d, swap);
        }
        return Field.pack(Field.multiply(a, a, invert(c)));
    }

    private static void swap(long[] a, long[] b, long bit) {
        long mask = -bit;
        for (int i = 0; i < Field.LIMBS; i++) {
            long t = mask & (a[i] ^ b[i]);
            a[i] ^= t;
            b[i] ^= t;
        }
    }

    /** z^(2^255 − 21): 254 squarings and 252 multiplications. */
    private static long[] invert(long[] z) {
        long[] o = z.clone();
        for (int i = 253; i >= 0; i--) {
            o = Field.square(o, o);
            if (i != 2 && i != 4) o = Field.multiply(o, o, z);
        }
        return o;
    }

    /** Both vectors of RFC 7748, section 5.2, and its iterated one after 1 and 1,000 rounds. */
    static void check() {
        String[][] vectors = {
            {"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
            {"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
        };
        HexFormat hex = HexFormat.of();
        for (String[] v : vectors) expect(v[2], hex.formatHex(multiply(hex.parseHex(v[0]), hex.parseHex(v[1]))));
        byte[] k = littleEndian(9), u = littleEndian(9);
        for (int i = 1; i <= 1000; i++) {
            byte[] next = multiply(k, u);
            u = k;
            k = next;
            if (i == 1) expect("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079", hex.formatHex(k));
        }
        expect("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51", hex.formatHex(k));
        Json.line("type", "checked", "variant", Variant.name(), "vectors", 4);
    }

    private static void expect(String expected, String found) {
        if (!expected.equals(found))
            throw new IllegalStateException(Variant.name() + ": found " + found + ", expected " + expected + " (RFC 7748)");
    }
}

/** Modes `count`, `dose` and `profile`: the ladder as an operation that calls product and carry. */
class Story {
    private static final int POOL = 64;
    private static final byte[][] SECRETS = new byte[POOL][32];
    private static final byte[][] POINTS = new byte[POOL][32];
    private static int at;
    static byte[] last;

    static {
        Random random = new Random(25519);
        for (int i = 0; i < POOL; i++) {
            random.nextBytes(SECRETS[i]);
            random.nextBytes(POINTS[i]);
        }
    }

    private static void once() {
        last = Ladder.multiply(SECRETS[at], POINTS[at]);
        if (++at == POOL) at = 0;
    }

    /** Op counts of one ladder, by counters in the field (`-Dcounting=on`). */
    static void count() {
        if (!Variant.COUNTING) throw new IllegalArgumentException("mode count needs -Dcounting=on");
        Time.start();
        once();
        Json.line("type", "counts", "variant", Variant.name(), "product", Field.products, "square", Field.squares,
            "carry", Field.carries);
    }

    /** Times the ladder under doses of carry and product, interleaved in random order; outputs are compared. */
    static void dose(Options options) {
        Time.start();
        int most = (int) options.number("most", 3);
        long budget = options.number("millis", 2000) * 1_000_000;
        int arms = 1 + 2 * most;
        byte[] expected = Ladder.multiply(SECRETS[0], POINTS[0]);
        // Every dose is warmed up before any is timed, so that no loop is compiled in the middle.
        boolean stable = true;
        for (int arm = arms - 1; arm >= 0; arm--) {
            set(arm, most);
            at = 0;
            once();
            if (!Arrays.equals(expected, last)) throw new IllegalStateException("a dose changed the output");
            stable &= Measure.warmUp(Story::once, 3_000_000_000L).stable;
        }
        List<List<Object>> times = new ArrayList<>();
        for (int arm = 0; arm < arms; arm++) times.add(new ArrayList<>());
        List<Integer> order = new ArrayList<>();
        for (int arm = 0; arm < arms; arm++) order.add(arm);
        Random random = new Random(options.number("seed", 0));
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < budget) {
            Collections.shuffle(order, random);
            for (int arm : order) {
                set(arm, most);
                long start = Measure.cpu();
                once();
                times.get(arm).add(Measure.cpu() - start);
            }
        }
        for (int arm = 0; arm < arms; arm++) {
            set(arm, most);
            Json.line("type", "dose", "variant", Variant.name(), "carry", Field.doseCarry, "product", Field.doseProduct,
                "warm_stable", stable, "cpu_ns", times.get(arm));
        }
    }

    /** Arm 0 is no dose, arms 1 to `most` dose the carry, the rest the product. */
    private static void set(int arm, int most) {
        Field.doseCarry = arm <= most ? arm : 0;
        Field.doseProduct = arm > most ? arm - most : 0;
    }

    /** Runs the ladder for a while under a flight recording that begins after the warm-up. */
    static void profile(Options options) throws Exception {
        Time.start();
        Measure.Warm warm = Measure.warmUp(Story::once, 5_000_000_000L);
        long cpu, wall, runs = 0;
        try (jdk.jfr.Recording recording = new jdk.jfr.Recording()) {
            recording.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(options.number("period", 10)));
            recording.enable("jdk.NativeMethodSample").withPeriod(Duration.ofMillis(options.number("period", 10)));
            for (String event : List.of("JVMInformation", "OSInformation", "CPUInformation", "BooleanFlag", "StringFlag",
                    "IntFlag", "UnsignedIntFlag", "LongFlag", "GCConfiguration", "ActiveSetting", "ActiveRecording"))
                recording.enable("jdk." + event).withoutThreshold();
            recording.start();
            long begin = Measure.cpu();
            long beginWall = System.nanoTime();
            long millis = options.number("millis", 3000);
            while (Measure.cpu() - begin < millis * 1_000_000) {
                once();
                runs++;
            }
            cpu = Measure.cpu() - begin;
            wall = System.nanoTime() - beginWall;
            recording.stop();
            recording.dump(Path.of(options.text("jfr")));
        }
        Json.line("type", "profiled", "variant", Variant.name(), "warm_stable", warm.stable, "runs", runs,
            "cpu_ns", cpu, "wall_ns", wall, "period_ms", options.number("period", 10));
    }
}
