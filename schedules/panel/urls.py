"""Pages of schedules and runs."""

from django.urls import path

from schedules.panel import views_acts, views_dialog, views_list, views_pages

app_name = "schedules"

urlpatterns = [
    path("panel/", views_list.panel, name="panel"),
    path("panel/updates", views_list.updates, name="updates"),
    path("schedules/new", views_dialog.create, name="create"),
    path("schedules/preview", views_dialog.preview, name="preview"),
    path("schedules/quick", views_dialog.quick, name="quick"),
    path("schedules/<str:public_id>/", views_pages.detail, name="detail"),
    path("schedules/<str:public_id>/edit", views_dialog.edit, name="edit"),
    path("schedules/<str:public_id>/run", views_acts.run, name="run"),
    path("schedules/<str:public_id>/pause", views_acts.pause, name="pause"),
    path("schedules/<str:public_id>/resume", views_acts.resume, name="resume"),
    path("schedules/<str:public_id>/skip-next", views_acts.skip_next, name="skip_next"),
    path("schedules/<str:public_id>/delete", views_acts.delete, name="delete"),
    path("runs/", views_pages.runs, name="runs"),
    path("runs/<str:public_id>/stop", views_acts.stop_run, name="stop_run"),
]
