// Mono sound of 16 bits as a WAV file, and back.

const HEADER = 44;
const BYTES = 2;

/** @param {Float32Array} samples from -1 to 1 @returns {Buffer} little-endian */
export function pcmOf(samples) {
  const pcm = Buffer.alloc(samples.length * BYTES);
  for (const [at, sample] of samples.entries()) {
    pcm.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), at * BYTES);
  }
  return pcm;
}

export function wavOf(samples, rate) {
  const pcm = pcmOf(samples);
  const header = Buffer.alloc(HEADER);
  header.write("RIFF", 0);
  header.writeUInt32LE(HEADER - 8 + pcm.length, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  // The format is PCM with one channel.
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * BYTES, 28);
  header.writeUInt16LE(BYTES, 32);
  header.writeUInt16LE(BYTES * 8, 34);
  header.write("data", 36);
  header.writeUInt32LE(pcm.length, 40);
  return Buffer.concat([header, pcm]);
}

/** @param {Buffer} file @param {number} rate that it must have @returns {Float32Array} */
export function samplesOf(file, rate) {
  const chunks = chunksOf(file);
  const format = chunks.get("fmt ");
  const data = chunks.get("data");
  if (!format || format.length < 16 || !data) throw new Error("The audio is not a WAV file");
  const [kind, channels, hertz, bits] = [
    format.readUInt16LE(0),
    format.readUInt16LE(2),
    format.readUInt32LE(4),
    format.readUInt16LE(14),
  ];
  if (kind !== 1 || channels !== 1 || hertz !== rate || bits !== BYTES * 8) {
    throw new Error(`The audio must be mono 16-bit PCM at ${rate} Hz`);
  }
  return Float32Array.from({ length: Math.floor(data.length / BYTES) }, (_, n) => {
    return data.readInt16LE(n * BYTES) / 32_767;
  });
}

function chunksOf(file) {
  const chunks = new Map();
  if (file.toString("latin1", 0, 4) !== "RIFF" || file.toString("latin1", 8, 12) !== "WAVE") {
    return chunks;
  }
  for (let at = 12; at + 8 <= file.length; ) {
    const size = file.readUInt32LE(at + 4);
    chunks.set(file.toString("latin1", at, at + 4), file.subarray(at + 8, at + 8 + size));
    at += 8 + size + (size % 2);
  }
  return chunks;
}
