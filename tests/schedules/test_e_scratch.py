import pytest
from schedules.services.editing import *
from schedules.inputs import *
from django.http import QueryDict
from core.errors import Refusal
from schedules.selectors.lists import schedule_row
from schedules.outputs import schedule_out, run_out
from schedules.services.preview import schedule_preview
def test_x(alice, now, make_agent):
    a = make_agent()
    s, r = schedule_create(owner=alice, body={"name":"N","prompt":"P","agent":a.public_id,"cadence":{"kind":"daily","time":"09:00"}}, now=now, key="k")
    s2, r2 = schedule_create(owner=alice, body={"name":"N","prompt":"P","agent":a.public_id,"cadence":{"kind":"daily","time":"09:00"}}, now=now, key="k")
    assert r2 and s2 == s
    import json
    print(json.dumps(schedule_out(schedule_row(s)), indent=1))
    with pytest.raises(Refusal) as e:
        schedule_create(owner=alice, body={"nme":"N","prompt":" ","agent":"x","cadence":{"kind":"cron","expression":"* * * * *"}, "retention":{"keep":"last"},"notify":{},"project":"q","zone":"No/where"}, now=now)
    for f in e.value.fields: print(f)
    s3 = schedule_edit(schedule=s, body={"name":"M","cadence":{"kind":"daily","time":"10:00"}}, now=now)
    print(s3.revision, s3.next_run_at)
    print(schedule_preview(owner=alice, body={"cadence":{"kind":"monthly","day":31,"time":"09:00"}}, now=now))
    f = body_to_form(s3); print(f)
    q = QueryDict(mutable=True)
    for k,v in f.items():
        if isinstance(v, bool):
            if v: q[k]="on"
        elif isinstance(v, list): q.setlist(k, v)
        else: q[k]=v
    print(form_to_body(q)); print(form_to_body(q, s3))
