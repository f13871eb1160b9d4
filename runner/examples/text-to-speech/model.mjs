// Says a text aloud, letter by letter: a text in, a sound file out.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";
import { joined, speak, spokenText } from "./speech.mjs";
import { RATE } from "./voice.mjs";
import { pcmOf, wavOf } from "./wav.mjs";

const breathe = () => new Promise((resolve) => setImmediate(resolve));

serve(manifest, {
  async predict({ text, voice, speed, response_format }, { signal, log, metric }) {
    const spoken = spokenText(text);
    if (!spoken) throw new Error("The text has no Latin letters or digits");
    const sentences = [];
    for (const sentence of speak(spoken, { voice, speed })) {
      signal.throwIfAborted();
      sentences.push(sentence);
      await breathe();
    }
    const sound = joined(sentences);
    log(`${(sound.length / RATE).toFixed(1)} s of sound`);
    metric("audio_seconds", sound.length / RATE);
    return response_format === "pcm"
      ? new File([pcmOf(sound)], "speech.pcm", { type: `audio/pcm;rate=${RATE}` })
      : new File([wavOf(sound, RATE)], "speech.wav", { type: "audio/wav" });
  },
});
