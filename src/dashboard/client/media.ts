/** The views of pictures and sounds in the playground. */

import { wavOf } from "../playground/media-outputs.ts";
import { button, element } from "./parts/element.ts";
import type { FilePicker } from "./parts/file-pickers.ts";
import { blobOf, MediaRuns } from "./parts/media-runs.ts";
import { Playground } from "./parts/playground.ts";

/** Sample rate that models of speech are trained on, Hz. */
const RATE = 16_000;
const MAX_MS = 10 * 60_000;

function attachRecorder(picker: FilePicker): void {
  // Browsers offer the microphone only on pages that are served securely.
  if (!navigator.mediaDevices || typeof MediaRecorder !== "function") return;
  const state = element("p", "field-error");
  state.role = "alert";
  state.hidden = true;
  let recorder: MediaRecorder | undefined;
  const control = button("Record", "quiet", async () => {
    if (recorder) return recorder.stop();
    state.hidden = true;
    try {
      recorder = await record((file) => picker.take([file]));
      control.textContent = "Stop recording";
      recorder.addEventListener("stop", () => {
        recorder = undefined;
        control.textContent = "Record";
      });
    } catch {
      state.textContent =
        "The microphone cannot be used. Allow it in your browser, or choose a file.";
      state.hidden = false;
    }
  });
  picker.element.querySelector("button")?.after(control);
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

const PICTURE = /image|picture|photo|img/i;

function begin(root: HTMLElement): void {
  const field = [...root.querySelectorAll<HTMLElement>(".field")].find(
    (one) =>
      one.querySelector("[data-file-picker]") &&
      PICTURE.test(one.querySelector("label")?.textContent ?? ""),
  );
  const control = field?.querySelector<HTMLInputElement | HTMLTextAreaElement>("[name]");
  const useAsInput = (address: string) => {
    if (!control) return;
    const blob = blobOf(address);
    if (blob) playground.files.of(control)?.take([new File([blob], "picture", blob)]);
    else control.value = new URL(address, location.href).href;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.focus();
  };
  // The card of the run has everything that this element shows.
  root.querySelector("[data-without-scripts]")?.remove();
  const runs = new MediaRuns(root, control ? useAsInput : undefined);
  const playground = new Playground(root, runs);
  if (root.dataset.view === "transcription")
    for (const picker of playground.files.all) attachRecorder(picker);
}

const root = document.querySelector<HTMLElement>("[data-playground]");
if (root) begin(root);
