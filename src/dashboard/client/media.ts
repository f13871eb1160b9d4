/** The views of pictures and sounds in the playground. */
import { blobOf } from "./parts/media/blob-address.ts";
import { attachRecorder } from "./parts/media/recorder.ts";
import { MediaRuns } from "./parts/media/runs.ts";
import { Playground } from "./parts/playground.ts";

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
