/** Records from the microphone into a file field. */
import { wavOf } from "../../../playground/media-outputs.ts";
import { element } from "../element.ts";
import type { FilePicker } from "../file-pickers.ts";

/** Sample rate that models of speech are trained on, Hz. */
const RATE = 16_000;
const MAX_MS = 10 * 60_000;

export function attachRecorder(picker: FilePicker): void {
  // Browsers offer the microphone only on pages that are served securely.
  if (!navigator.mediaDevices || typeof MediaRecorder !== "function") return;
  const button = element("button", "quiet", "Record");
  button.type = "button";
  const state = element("p", "field-error");
  state.role = "alert";
  state.hidden = true;
  let recorder: MediaRecorder | undefined;
  button.addEventListener("click", async () => {
    if (recorder) return recorder.stop();
    state.hidden = true;
    try {
      recorder = await record((file) => picker.take([file]));
      button.textContent = "Stop recording";
      recorder.addEventListener("stop", () => {
        recorder = undefined;
        button.textContent = "Record";
      });
    } catch {
      state.textContent =
        "The microphone cannot be used. Allow it in your browser, or choose a file.";
      state.hidden = false;
    }
  });
  picker.element.querySelector("button")?.after(button);
  picker.element.append(state);
}

async function record(take: (file: File) => void): Promise<MediaRecorder> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const parts: Blob[] = [];
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  const timer = setTimeout(() => recorder.stop(), MAX_MS);
  recorder.addEventListener("stop", async () => {
    clearTimeout(timer);
    for (const track of stream.getTracks()) track.stop();
    take(await wavFile(new Blob(parts)));
  });
  recorder.start();
  return recorder;
}

/** Browsers record in formats that few models read. */
async function wavFile(recording: Blob): Promise<File> {
  const context = new OfflineAudioContext(1, 1, RATE);
  const sound = await context.decodeAudioData(await recording.arrayBuffer());
  const mono = new OfflineAudioContext(1, sound.length, RATE);
  const source = mono.createBufferSource();
  source.buffer = sound;
  source.connect(mono.destination);
  source.start();
  const samples = (await mono.startRendering()).getChannelData(0);
  return new File([wavOf(samples, RATE)], "recording.wav", { type: "audio/wav" });
}
