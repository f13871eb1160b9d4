const RATE = 8_000;

/** Returns a WAV file of silence: mono, 8 bits, 8 kHz. */
export function wavOf(seconds: number) {
  const wav = Buffer.alloc(44 + seconds * RATE, 0x80);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  for (const at of [20, 22, 32]) wav.writeUInt16LE(1, at);
  for (const at of [24, 28]) wav.writeUInt32LE(RATE, at);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(seconds * RATE, 40);
  return wav;
}
