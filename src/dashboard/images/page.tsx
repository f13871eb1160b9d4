/** The images of an account: how much they take, each of them, and how to push one. */
import { byteText } from "../../lib/text.ts";
import type { UserUsage } from "../../protocol/user.ts";
import type { Page } from "../../services/pagination.ts";
import type { AccountImage } from "../../services/registry/account-images.ts";
import { AccountTabs } from "../account/tabs.tsx";
import type { Draft } from "../form.ts";
import { imageText } from "../publish/commands.ts";
import { Problem } from "../ui/fields.tsx";
import { Copy, Empty, Pager } from "../ui/parts.tsx";
import { ImageItem } from "./image.tsx";

interface Place {
  origin: string;
  username: string;
}

export const ImagesPage = ({
  page,
  storage: { bytes, max_bytes },
  place,
  draft,
}: {
  page: Page<AccountImage>;
  storage: UserUsage["images"];
  place: Place;
  draft: Draft;
}) => (
  <>
    <h1>Images</h1>
    <AccountTabs current="/account/images" />
    <p>
      The container images that you pushed to <code>{new URL(place.origin).host}</code>, newest
      first. They take {byteText(bytes)} of {byteText(max_bytes)}; a layer that several have counts
      once.
    </p>
    <Problem draft={draft} />
    {page.items.length === 0 && page.previous_url === null && page.next_url === null ? (
      <Empty title="No images yet">
        <p>
          <a href="/models/publish">Publishing a model</a> pushes its image. You can also push one
          that Docker has already, and make a version of it later:
        </p>
        <Commands place={place} />
      </Empty>
    ) : (
      <>
        {page.items.length === 0 && <p>Only parts of other images are on this page.</p>}
        <ul class="rows images">
          {page.items.map((image) => (
            <ImageItem image={image} username={place.username} />
          ))}
        </ul>
        <Pager previous={page.previous_url} next={page.next_url} />
        <h2>Push another</h2>
        <Commands place={place} />
      </>
    )}
  </>
);

/** With a name that the reader replaces. */
const Commands = ({ place }: { place: Place }) => (
  <div class="push-commands">
    <Copy lines text={imageText({ ...place, name: "my-model", token: undefined, isFirst: true })} />
    <p class="hint">
      With an <a href="/tokens">access token</a> that has the scope <code>write</code>. The first
      push to a name creates a private model.{" "}
      <a href="/docs/publishing#push-by-hand">More on pushing</a>
    </p>
  </div>
);
