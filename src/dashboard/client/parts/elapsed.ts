/** The running time of the current step, by the clock of the server. */
import { longDuration } from "../../ui/duration.ts";

/** @param root has `data-now`, the server time when rendered, and contains `data-since`, both unix ms. @returns stops it */
export function showElapsed(root: HTMLElement): () => void {
  const ahead = Number(root.dataset.now) - Date.now();
  const show = () => {
    for (const place of root.querySelectorAll<HTMLElement>("[data-since]")) {
      const ms = Date.now() + ahead - Number(place.dataset.since);
      place.textContent = longDuration(Math.max(0, Math.floor(ms / 1000)));
    }
  };
  show();
  const timer = setInterval(show, 500);
  return () => clearInterval(timer);
}
