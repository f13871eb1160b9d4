CREATE TABLE `upload_parts` (
	`upload_id` text NOT NULL,
	`part_number` integer NOT NULL,
	`etag` text NOT NULL,
	PRIMARY KEY(`upload_id`, `part_number`),
	FOREIGN KEY (`upload_id`) REFERENCES `uploads`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `uploads` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`prediction_id` text,
	`key` text NOT NULL,
	`multipart_id` text NOT NULL,
	`size` integer NOT NULL,
	`mime_type` text NOT NULL,
	`name` text,
	`part_size` integer NOT NULL,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`expires_at` integer NOT NULL,
	`removed_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `uploads_expires` ON `uploads` (`expires_at`);--> statement-breakpoint
CREATE INDEX `uploads_pending` ON `uploads` (`user_id`) WHERE completed_at IS NULL AND prediction_id IS NULL;--> statement-breakpoint
INSERT INTO `keys` (`name`, `value`) VALUES ('addresses', hex(randomblob(32)));
