/** Makes a link to a prediction that has ended. */
import type { ShareRow } from "../../storage/shares/shares.ts";
import { Form } from "../ui/layout.tsx";
import { Above, ALL_PREDICTIONS, Copy, linkToPrediction, Time } from "../ui/parts.tsx";
import { SharesOfPrediction } from "./list.tsx";

/** Days. */
export const LIFETIMES = [1, 7, 30];
const DEFAULT_DAYS = 7;

/** @param shares the links that the prediction has */
export const ShareForm = ({ id, shares }: { id: string; shares: ShareRow[] }) => (
  <>
    <h2>Share</h2>
    <p class="hint">
      Whoever has the link sees the input, without its secret fields, and the output; no logs, no
      webhooks and not your name. You can revoke it here or under{" "}
      <a href="/account/shares">Shared links</a>.
    </p>
    <SharesOfPrediction shares={shares} />
    <Form action={`/predictions/${id}/share`} class="bar share-form">
      <label for="share-days">Ends after</label>
      <select id="share-days" name="days">
        {LIFETIMES.map((days) => (
          <option value={days} selected={days === DEFAULT_DAYS}>
            {days === 1 ? "1 day" : `${days} days`}
          </option>
        ))}
      </select>
      <button type="submit" class="quiet">
        Create link
      </button>
    </Form>
  </>
);

/** The new link, shown once: only its hash is stored. */
export const NewLinkPage = ({
  id,
  address,
  expires_at,
}: {
  id: string;
  address: string;
  expires_at: number;
}) => (
  <>
    <Above places={[ALL_PREDICTIONS, linkToPrediction(id)]} />
    <h1>Link created</h1>
    <section class="box new-secret" aria-labelledby="new-link">
      <h2 id="new-link">Copy the link now: it is not shown again</h2>
      <Copy text={address} label="Copy link" />
      <p class="hint">
        It ends on <Time at={expires_at} />, or when you revoke it under{" "}
        <a href="/account/shares">Shared links</a>. <a href={address}>See what it shows</a>
      </p>
    </section>
    <p>
      <a href={`/predictions/${id}`}>Back to the prediction</a>
    </p>
  </>
);
