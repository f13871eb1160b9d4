/** `/account/images`: images that an account has pushed to the deployment's registry, and their removal. */
import { RegistryError } from "../../errors/registry.ts";
import { byteText } from "../../lib/text.ts";
import type { UserUsage } from "../../protocol/user.ts";
import { getOwnStorage } from "../../services/accounts/usage.ts";
import type { Page } from "../../services/pagination.ts";
import {
  type AccountImage,
  listOwnImages,
  removeOwnImage,
} from "../../services/registry/account-images.ts";
import { requireRole, requireUser, viewerOf } from "../access.ts";
import { addressIn, baseOf } from "../addresses.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, readForm } from "../form.ts";
import { imageText } from "../publish/commands.ts";
import { Problem, Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Empty, Pager, Time } from "../ui/parts.tsx";
import { AccountTabs } from "../ui/tabs.tsx";

interface Props {
  image: AccountImage;
  username: string;
}

function ImageItem({ image, username }: Props) {
  const { name, digest, isIndex, pushed_at, bytes, tags } = image;
  return (
    <li>
      <div class="bar image-names">
        <a class="strong" href={`/models/${username}/${name}`}>
          {name}
        </a>
        {tags.items.map((tag) => (
          <span class="badge clip">{tag}</span>
        ))}
        {tags.more && <small>more tags</small>}
        {tags.items.length === 0 && <small>no tag</small>}
      </div>
      <div class="bar image-digest">
        <code class="clip">{digest}</code>
        <button type="button" class="quiet" data-copy="" hidden>
          Copy<span class="visually-hidden"> digest</span>
        </button>
      </div>
      <small>
        {bytes === undefined ? "size unknown" : byteText(bytes)}
        {isIndex && ", multi-platform"}
        {pushed_at !== undefined && (
          <>
            {" · pushed "}
            <Time at={pushed_at} />
          </>
        )}
        {" · "}
        <KeptBy image={image} username={username} />
      </small>
      <Removal image={image} username={username} />
    </li>
  );
}

function KeptBy({ image: { name, tags, versions, held_until }, username }: Props) {
  if (versions.items.length > 0) {
    return (
      <>
        used by {versions.items.length === 1 ? "version" : "versions"}{" "}
        {versions.items.map((number, n) => (
          <>
            {n > 0 && ", "}
            <a href={`/models/${username}/${name}/versions/${number}`}>{number}</a>
          </>
        ))}
        {versions.more && " and more"}
      </>
    );
  }
  if (held_until !== undefined) {
    return (
      <>
        kept until <Time at={held_until} /> for predictions of a deleted version
      </>
    );
  }
  return tags.items.length > 0 ? "not used" : "not used, deleted within a week";
}

/** Open to read first: without client code nothing else asks. */
function Removal({ image, username }: Props) {
  const { name, digest, tags, versions, held_until } = image;
  const action = `/models/${username}/${name}/images/remove`;
  const isNeeded = versions.items.length > 0 || held_until !== undefined;
  if (isNeeded && tags.items.length === 0) return null;
  return (
    <details>
      <summary class="quiet small">
        Delete<span class="visually-hidden">{` ${name}, ${digest.slice(0, 15)}`}</span>
      </summary>
      {tags.items.length > 0 && (
        <>
          <p>
            Removing a tag means the image can’t be pulled or published by that name.{" "}
            {isNeeded
              ? "Existing versions are not affected."
              : "An image without tags or versions is deleted within a week."}
          </p>
          <div class="flow actions">
            {tags.items.map((tag) => (
              <Form action={action}>
                <input type="hidden" name="reference" value={tag} />
                <Submit kind="quiet">{`Remove tag ${tag}`}</Submit>
              </Form>
            ))}
          </div>
        </>
      )}
      {isNeeded ? (
        <p>
          {versions.items.length > 0 || held_until === undefined ? (
            "A version uses this image. To delete the image, delete the version first, then wait four days."
          ) : (
            <>
              You can delete this image after <Time at={held_until} />. Until then, predictions of a
              deleted version may need it.
            </>
          )}
        </p>
      ) : (
        <>
          <p>
            Deletes the image and all its tags. Its storage is freed within a week. This can’t be
            undone, but you can push the image again.
          </p>
          <Form action={action}>
            <input type="hidden" name="reference" value={digest} />
            <Submit kind="danger">Delete image</Submit>
          </Form>
        </>
      )}
    </details>
  );
}

interface Pusher {
  origin: string;
  username: string;
}

const ImagesPage = ({
  page,
  storage: { bytes, max_bytes },
  pusher,
  draft,
}: {
  page: Page<AccountImage>;
  storage: UserUsage["images"];
  pusher: Pusher;
  draft: Draft;
}) => (
  <>
    <h1>Images</h1>
    <AccountTabs current="/account/images" />
    <p>
      Images pushed to <code>{new URL(pusher.origin).host}</code>. {byteText(bytes)} of{" "}
      {byteText(max_bytes)} used. Shared layers count once.
    </p>
    <Problem draft={draft} />
    {page.items.length === 0 && page.previous_url === null && page.next_url === null ? (
      <Empty title="No images yet">
        <p>
          <a href="/models/publish">Publishing a model</a> pushes its image. To push an existing
          Docker image:
        </p>
        <Commands pusher={pusher} />
      </Empty>
    ) : (
      <>
        {page.items.length === 0 && <p>No images on this page.</p>}
        <ul class="rows images">
          {page.items.map((image) => (
            <ImageItem image={image} username={pusher.username} />
          ))}
        </ul>
        <Pager previous={page.previous_url} next={page.next_url} />
        <h2>Push an image</h2>
        <Commands pusher={pusher} />
      </>
    )}
  </>
);

/** Commands with a name that the reader replaces. */
const Commands = ({ pusher }: { pusher: Pusher }) => (
  <div class="measure">
    <Copy
      lines
      text={imageText({ ...pusher, name: "my-model", token: undefined, isFirst: true })}
    />
    <p class="hint">
      Requires an <a href="/tokens">access token</a> with the <code>write</code> scope. The first
      push to a name creates a private model.{" "}
      <a href="/docs/publishing#push-by-hand">Push an image by hand</a>
    </p>
  </div>
);

const PAGE_SIZE = 25;
const LIST = "/account/images";

export const imagePages = pages()
  .get(LIST, requireRole("developer", "The images of the account"), (c) =>
    showImages(c, emptyDraft),
  )
  .post("/models/:owner/:name/images/remove", requireUser, async (c) => {
    const { owner, name } = c.req.param();
    const reference = fieldText(await readForm(c), "reference");
    try {
      await removeOwnImage(c.var.services, viewerOf(c).caller, { owner, name, reference });
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      c.status(error.status);
      return showImages(c, { issues: {}, problem: error.message });
    }
    const what = reference.includes(":") ? "Image deleted." : `Tag ${reference} removed.`;
    return redirectWithFlash(c, what, LIST);
  });

async function showImages(c: PageContext, draft: Draft) {
  const { services, origin } = c.var;
  const { caller, account } = viewerOf(c);
  const url = new URL(addressIn(baseOf(c.var.viewer), LIST), origin).href;
  const [page, { images }] = await Promise.all([
    listOwnImages(services, caller, { cursor: c.req.query("cursor"), size: PAGE_SIZE, url }),
    getOwnStorage(services, caller),
  ]);
  const pusher = { origin, username: account.username };
  return c.render(<ImagesPage page={page} storage={images} pusher={pusher} draft={draft} />, {
    title: "Images",
  });
}
