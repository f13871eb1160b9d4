/** Leads to the next part of a long text. client/parts/long-text.ts shows it in its place instead. */
import { cursorText, type OutputCursor } from "../../domain/predictions/output-cursor.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";

/** @param display whether strings are pieces of one text, or lines */
export const partAddress = (id: string, next: OutputCursor, display: PredictionView["display"]) =>
  `/predictions/${id}/output/part?at=${cursorText(next)}${display === "list" ? "&lines=true" : ""}`;

export const ShowMore = ({ address }: { address: string }) => (
  <p>
    <a class="button quiet" href={address} data-next>
      Show more<span class="visually-hidden"> of the output</span>
    </a>
  </p>
);
