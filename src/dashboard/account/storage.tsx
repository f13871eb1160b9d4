/** Storage of an account at the moment, whatever the period of its usage. */
import type { Child } from "hono/jsx";
import { byteText } from "../../lib/text.ts";
import type { UserUsage } from "../../protocol/user.ts";

export const Storage = ({
  storage: { files, images, database },
  children,
}: {
  storage: UserUsage;
  children?: Child;
}) => (
  <section aria-labelledby="storage-title">
    <h2 id="storage-title">Storage</h2>
    <dl class="figures totals">
      <div>
        <dt>Files</dt>
        <dd>{amountOf(files)}</dd>
      </div>
      <div>
        <dt>Images</dt>
        <dd>{amountOf(images)}</dd>
      </div>
      <div>
        <dt>Database</dt>
        <dd>{amountOf(database)}</dd>
      </div>
    </dl>
    {children}
  </section>
);

const amountOf = ({ bytes, max_bytes }: UserUsage["images"]) =>
  `${byteText(bytes)} of ${byteText(max_bytes)}`;
