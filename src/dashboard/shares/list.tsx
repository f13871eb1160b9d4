/** `/account/shares`: the links that one has given out. */
import type { Page } from "../../services/pagination.ts";
import type { ShareRow } from "../../storage/shares/shares.ts";
import { AccountTabs } from "../account/tabs.tsx";
import { Form } from "../ui/layout.tsx";
import { Empty, Pager, Time } from "../ui/parts.tsx";

export const SharesPage = ({ page }: { page: Page<ShareRow> }) => (
  <>
    <h1>Shared links</h1>
    <AccountTabs current="/account/shares" />
    <p class="hint">
      Whoever has a link sees the input and output of one prediction, until the link ends or its
      data is removed.
    </p>
    {page.items.length === 0 ? (
      <Empty title="No shared links">
        <p>Create one on the page of a prediction that has ended.</p>
        <p class="actions">
          <a class="button quiet" href="/predictions">
            View your predictions
          </a>
        </p>
      </Empty>
    ) : (
      <ul class="rows">
        {page.items.map((share) => (
          <Share share={share} />
        ))}
      </ul>
    )}
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

function Share({ share: { id, prediction_id, created_at, expires_at } }: { share: ShareRow }) {
  const short = `…${prediction_id.slice(-12)}`;
  return (
    <li>
      <div>
        <a href={`/predictions/${prediction_id}`}>{`Prediction ${short}`}</a>
        <small>
          created <Time at={created_at} />, {expires_at > Date.now() ? "ends" : "ended"}{" "}
          <Time at={expires_at} />
        </small>
      </div>
      <Form
        action={`/account/shares/${id}/revoke`}
        data-confirm="Revoke this link? Whoever has it sees nothing any more, and it cannot be shown again."
      >
        <button type="submit" class="quiet">
          Revoke<span class="visually-hidden">{` the link to ${short}`}</span>
        </button>
      </Form>
    </li>
  );
}
