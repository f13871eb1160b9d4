// Transcribes sound files of the model text-to-speech into text with times.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";
import { hear } from "./hearing.mjs";
import { RATE } from "./voice.mjs";
import { samplesOf } from "./wav.mjs";

/** The limit is some 25 minutes of sound. */
const MAX_BYTES = 50_000_000;

serve(manifest, {
  async predict({ audio, word_timestamps }, { signal, log, metric }) {
    const answer = await fetch(audio, { signal }).catch(({ message, cause }) => {
      signal.throwIfAborted();
      // The message alone says only "fetch failed"; the cause says why.
      throw new Error(`Cannot read the audio: ${cause?.message ?? message}`);
    });
    if (!answer.ok) throw new Error(`Cannot read the audio: ${answer.status}`);
    if (Number(answer.headers.get("content-length")) > MAX_BYTES)
      throw new Error("The audio is larger than 50 MB");
    const samples = samplesOf(Buffer.from(await answer.arrayBuffer()), RATE);
    const duration = samples.length / RATE;
    metric("audio_seconds", duration);
    const sentences = hear(samples);
    log(`${sentences.length} sentences in ${duration.toFixed(1)} s`);
    return {
      text: sentences.map(({ text }) => text).join(" "),
      duration,
      segments: sentences.map(({ words, ...sentence }) =>
        word_timestamps ? { ...sentence, words } : sentence,
      ),
    };
  },
});
