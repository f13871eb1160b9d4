/** The URL of a webhook in lists: it has up to 2,048 characters, of which the first identify it. */
export const WebhookUrl = ({ url }: { url: string }) => (
  <bdi class="clamp webhook-url" title={url}>
    {url}
  </bdi>
);
