/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Connection to the node agent (attach.h).  */

#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libgomp.h"

#include "allot.h"
#include "region.h"
#include "settings.h"
#include "threadstat.h"

#define REPLY_NS 1000000000ull /* an agent that lives answers within an epoch */
#define LOOK_MS 5      /* most often at once */
#define WORK_NS 500000ull /* CPU time between two looks: more than to accept takes */
#define REPLY_MAX 4096 /* bytes; the reply to attach is short */
#define DESCRIPTORS 2

static int connection = -1;

/* A connection on which the reply has not come yet.  */
static int asked = -1;
static uint64_t asked_ns;
static pid_t agent;	    /* who listens, 0 if it is in another PID namespace */
static uint64_t agent_used; /* CPU time of it at the last look */

void
coop_attach_close (void)
{
  if (connection >= 0)
    close (connection);
  if (asked >= 0)
    close (asked);
  connection = asked = -1;
}

bool
coop_attach_lost (void)
{
  struct pollfd p = { connection, POLLIN, 0 };
  char byte;
  if (connection < 0)
    return true;
  if (poll (&p, 1, 0) <= 0)
    return false;
  if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
    return true;
  /* Nothing but the end is expected here.  */
  ssize_t n = recv (connection, &byte, 1, MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* By the job's own socket, where there is one: other users can fill the queue
   of the one for all.  */
static int
connect_agent (void)
{
  struct sockaddr_un a = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  int n = snprintf (a.sun_path, sizeof a.sun_path, "%s.%lu",
		    coop_settings.socket, coop_settings.job);
  bool own = n < (int) sizeof a.sun_path;
  if (own && connect (fd, (struct sockaddr *) &a, sizeof a) == 0)
    return fd;
  memcpy (a.sun_path, coop_settings.socket, sizeof a.sun_path);
  /* EAGAIN: there is an agent, which has much to do for this job.  */
  if ((own && errno == EAGAIN)
      || connect (fd, (struct sockaddr *) &a, sizeof a))
    {
      close (fd);
      return -1;
    }
  return fd;
}

static int
send_request (int fd)
{
  static const char *const modes[] = { "none", "donor", "ult", "kthread" };
  char text[320];
  unsigned long threads = gomp_global_icv.nthreads_var;
  /* An agent that is older skips what it does not know.  Whys are texts of
     this library, without quotes and short.  */
  int n = snprintf (text, sizeof text,
		    "{\"v\":1,\"r\":1,\"op\":\"attach\",\"job\":%lu,"
		    "\"pid\":%ld,\"threads\":%lu,\"mode\":\"%s\","
		    "\"why\":\"%.80s\"}",
		    coop_settings.job, (long) getpid (), threads,
		    modes[coop_mode], coop_settings_why ());
  return send (fd, text, (size_t) n, MSG_NOSIGNAL) == n ? 0 : -1;
}

/* Receives the reply into TEXT[SIZE] and its descriptors into FDS.  Returns
   how many there are, or -1.  */
static int
receive_reply (int fd, char *text, size_t size, int fds[DESCRIPTORS])
{
  union
  {
    char bytes[CMSG_SPACE (sizeof (int) * DESCRIPTORS)];
    struct cmsghdr align;
  } control;
  struct iovec io = { text, size - 1 };
  struct msghdr m = { .msg_iov = &io,
		      .msg_iovlen = 1,
		      .msg_control = control.bytes,
		      .msg_controllen = sizeof control.bytes };
  int count = 0;

  ssize_t n = recvmsg (fd, &m, MSG_CMSG_CLOEXEC);
  if (n <= 0)
    return -1;
  text[n] = '\0';
  for (struct cmsghdr *c = CMSG_FIRSTHDR (&m); c; c = CMSG_NXTHDR (&m, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      {
	count = (int) ((c->cmsg_len - CMSG_LEN (0)) / sizeof (int));
	memcpy (fds, CMSG_DATA (c), (size_t) count * sizeof (int));
      }
  return count;
}

/* The reply REPLY with COUNT descriptors has come on FD.  */
static enum coop_attach_result
take_reply (int fd, const char *reply, int fds[DESCRIPTORS], int count,
	    const struct cosched_allotment **page, char *text, size_t size)
{
  bool good = false;

  if (count != DESCRIPTORS)
    snprintf (text, size, "%s", reply);
  else if (!(*page = coop_allot_map (fds[0])))
    snprintf (text, size, "no valid allotment page");
  else if (coop_region_map (fds[1]))
    {
      snprintf (text, size, "no valid report page");
      coop_allot_unmap (*page);
      *page = NULL;
    }
  else
    good = true;
  for (int i = 0; i < count; i++)
    close (fds[i]);
  if (!good)
    {
      close (fd);
      return COOP_ATTACH_REFUSED;
    }
  connection = fd;
  return COOP_ATTACH_OK;
}

/* To whom FD leads.  */
static pid_t
find_agent (int fd)
{
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? 0 : peer.pid;
}

bool
coop_attach_awaited (void)
{
  uint64_t used = coop_threadstat_process_used (agent), before = agent_used;
  agent_used = used;
  return used > before + WORK_NS || coop_threadstat_process_runs (agent);
}

enum coop_attach_result
coop_attach (const struct cosched_allotment **page, char *text, size_t size)
{
  char reply[REPLY_MAX];
  int fds[DESCRIPTORS] = { -1, -1 };
  uint64_t now = coop_now_ns ();

  if (asked < 0)
    {
      asked = connect_agent ();
      asked_ns = now;
      if (asked < 0 || send_request (asked))
	{
	  coop_attach_close ();
	  return COOP_ATTACH_ABSENT;
	}
      agent = find_agent (asked);
      agent_used = coop_threadstat_process_used (agent);
    }
  struct pollfd p = { asked, POLLIN, 0 };
  if (poll (&p, 1, LOOK_MS) <= 0)
    {
      if (now - asked_ns < REPLY_NS)
	return COOP_ATTACH_ASKED;
      coop_attach_close ();
      return COOP_ATTACH_SILENT;
    }
  int fd = asked, count = receive_reply (fd, reply, sizeof reply, fds);
  asked = -1;
  if (count < 0)
    {
      close (fd);
      return COOP_ATTACH_ABSENT;
    }
  return take_reply (fd, reply, fds, count, page, text, size);
}
